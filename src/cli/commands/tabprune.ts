import { path } from '../client.ts';
import { Refused } from '../client-errors.ts';
import { csvHeader, csvRow, type Dump } from '../csv.ts';
import { helpAndVersion, helpOrVersion } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { errorLine, resultLine } from '../lines.ts';
import { parseOptions } from '../options.ts';

/** How long entries are kept, by log. */
const retention: Readonly<Record<string, string>> = { auditlog: 'auditretention', eventlog: 'eventretention' };

export const command: CliCommand = {
  usage: `Usage: tabprune TABLE -a [-V]
       tabprune -h | --help | -v | --version

Removes all rows of a table. Logs lose their entries by themselves, after as many days as site.auditretention and site.eventretention say.

  -a   all rows
  -V   shows the rows that were removed`,
  async run(invocation) {
    const { argv, client, stdout, stderr, env } = invocation;
    const limits = ['a', 'n', 'i', 'p', 'd'] as const;
    const table = { a: 'flag', n: 'value', i: 'value', p: 'value', d: 'value', V: 'flag', ...helpAndVersion } as const;
    const options = parseOptions(argv, table);
    const code = helpOrVersion(invocation, command.usage, options);
    if (code !== undefined) return code;
    const [name] = options.operands;
    const say = (text: string): number => {
      stdout.line(text);
      return 1;
    };
    if (name === undefined) return say('A table name must be supplied.');
    const given = limits.filter((limit) => options.has(limit));
    if (given.length === 0) return say('One option -p or -i or -n or -a or -d must be supplied.');
    if (given.length > 1) return say('Only one option -p or -i or -n or -a maybe used at a time.');
    const fail = (text: string, status = 1): number => {
      stderr.line(errorLine(text, client.server));
      return status;
    };
    let reply;
    try {
      reply = await client.call('GET', path('tables', name, 'dump'));
    } catch (error) {
      if (!(error instanceof Refused) || !error.missing.includes(name)) throw error;
      stdout.line(`tabprune of ${name} complete.`);
      return fail(`Unable to open  ${name}`, 5);
    }
    if (Object.hasOwn(retention, name))
      return fail(`${name} is append-only; site.${retention[name]!} says after how many days entries go.`);
    if (!options.flag('a')) return fail(`-${given[0]!} is for logs; ${name} has no order to go by. Use -a.`);
    const { columns, rows } = (reply.body as Record<string, Dump>)[name]!;
    const tag = reply.headers.etag;
    if (rows.length > 0) {
      const headers = tag === undefined ? {} : { 'If-Match': tag };
      await client.call('PUT', path('tables', name, 'dump'), { body: { [name]: [] }, headers });
    }
    if (options.flag('V')) {
      const shown = { env, server: client.server, shown: true };
      stdout.line(resultLine(csvHeader(columns), shown));
      for (const row of rows) stdout.line(resultLine(csvRow(columns, row), shown));
      return 0;
    }
    if (rows.length === 0) stdout.line(`Nothing to prune from ${name}.`);
    stdout.line(`tabprune of ${name} complete.`);
    return 0;
  },
};
