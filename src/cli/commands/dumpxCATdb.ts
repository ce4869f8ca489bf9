import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { path } from '../client.ts';
import { csvText, type Dump } from '../csv.ts';
import { helpAndVersion, helpOrVersion, usageError } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { errorLine } from '../lines.ts';
import { parseOptions } from '../options.ts';

/** Not dumped unless -a asks for them: they are large, and no restore takes them. Tokens are worth nothing elsewhere. */
const logs = ['auditlog', 'eventlog'];
const never = ['token'];

export const command: CliCommand = {
  usage: `Usage: dumpxCATdb [-a] [-V] -p DIRECTORY
       dumpxCATdb -h | --help | -v | --version

Writes every table to a file TABLE.csv in the directory, all as they are at one moment. Secrets are not among it: muster backup on the
management node keeps everything.

  -a   the logs too
  -V   names each table`,
  async run(invocation) {
    const { argv, client, stdout, stderr } = invocation;
    const options = parseOptions(argv, { a: 'flag', V: 'flag', 'path|p': 'value', ...helpAndVersion });
    const code = helpOrVersion(invocation, command.usage, options);
    if (code !== undefined) return code;
    const directory = options.value('path');
    if (directory === undefined) return usageError(invocation, command.usage);
    const left = options.flag('a') ? never : [...never, ...logs];
    const tables = ((await client.get('/tables')) as string[]).filter((name) => !left.includes(name));
    const dumps = (await client.get(path('tables', tables.join(','), 'dump'))) as Record<string, Dump>;
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      for (const [table, dump] of Object.entries(dumps)) {
        if (options.flag('V')) stdout.line(`Dumping table: ${table}`);
        writeFileSync(join(directory, `${table}.csv`), csvText(dump), { mode: 0o600 });
      }
    } catch (error) {
      stderr.line(errorLine(`The tables cannot be written to ${directory}: ${(error as Error).message}`));
      return 1;
    }
    stdout.line('Backup Complete.');
    return 0;
  },
};
