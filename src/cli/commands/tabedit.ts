import { path } from '../client.ts';
import { Refused } from '../client-errors.ts';
import { CsvError, csvText, type Dump, parseCsv } from '../csv.ts';
import { edited } from '../editor.ts';
import { helpAndVersion, helpOrVersion, usageError } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { errorLine } from '../lines.ts';
import { parseOptions } from '../options.ts';

export const command: CliCommand = {
  usage: `Usage: tabedit TABLE
       tabedit -h | --help | -v | --version

Opens a table in $TABEDITOR, $VISUAL or $EDITOR, shows what has changed, and writes all of it or nothing.`,
  async run(invocation) {
    const { argv, client, stdout, stderr, env } = invocation;
    const options = parseOptions(argv, helpAndVersion);
    const code = helpOrVersion(invocation, command.usage, options);
    if (code !== undefined) return code;
    const [table, ...more] = options.operands;
    if (table === undefined || more.length > 0) return usageError(invocation, command.usage);
    const fail = (sentence: string): number => {
      stderr.line(errorLine(sentence, client.server));
      return 1;
    };
    let reply;
    try {
      reply = await client.call('GET', path('tables', table, 'dump'));
    } catch (error) {
      if (error instanceof Refused && error.missing.includes(table)) return fail(`No such table: ${table}`);
      throw error;
    }
    const dump = (reply.body as Record<string, Dump>)[table]!;
    const before = csvText(dump);
    const result = await edited(before, `${table}.csv`, env);
    if (result.failure !== undefined) return fail(result.failure);
    if (result.text === before) {
      stdout.line('No file modifications detected, not restoring.');
      return 0;
    }
    try {
      const { columns, rows } = parseCsv(result.text);
      const strange = columns.find((column) => !dump.columns.includes(column));
      if (strange !== undefined) throw new CsvError(`There is no column ${strange} in table ${table}.`);
      for (const line of changedLines(before, result.text)) stdout.line(line);
      const tag = reply.headers.etag;
      await client.call('PUT', path('tables', table, 'dump'), {
        body: { [table]: rows.map(({ row }) => row) },
        ...(tag === undefined ? {} : { headers: { 'If-Match': tag } }),
      });
    } catch (error) {
      if (!(error instanceof CsvError) && !(error instanceof Refused)) throw error;
      const sentences = error instanceof Refused ? error.sentences : [error.message];
      for (const sentence of sentences) fail(sentence);
      return fail(`Nothing was changed; what you wrote is in ${result.keep()}.`);
    }
    return 0;
  },
};

/** Lines that went, with a minus before them, and lines that came, with a plus. */
function changedLines(before: string, after: string): string[] {
  const [old, now] = [new Set(before.split('\n')), new Set(after.split('\n'))];
  return [
    ...[...old].filter((line) => !now.has(line)).map((line) => `-${line}`),
    ...[...now].filter((line) => !old.has(line)).map((line) => `+${line}`),
  ];
}
