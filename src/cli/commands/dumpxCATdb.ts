import { lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { path } from '../client.ts';
import { Garbled } from '../client-errors.ts';
import { csvText, type Dump } from '../csv.ts';
import { helpAndVersion, helpOrVersion, usageError } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { errorLine } from '../lines.ts';
import { type CheckedName, tableFromServer } from '../names-from-server.ts';
import { parseOptions } from '../options.ts';
import { checkFree, InTheWay, serverFile, type ServerFiles, writeServerFile } from '../server-files.ts';

/** Not dumped unless -a asks for them: they are large, and no restore takes them. Tokens are worth nothing elsewhere. */
const logs = ['auditlog', 'eventlog'];
const never = ['token'];

export const command: CliCommand = {
  usage: `Usage: dumpxCATdb [-a] [-V] [--replace] -p DIRECTORY
       dumpxCATdb -h | --help | -v | --version

Writes every table to a file TABLE.csv in the directory, all as they are at one moment, in place of those of an earlier dump. Secrets are
not among it: muster backup on the management node keeps everything.

  -a          the logs too
  -V          names each table
  --replace   replaces files of these names even if they are no dumps of tables`,
  async run(invocation) {
    const { argv, client, stdout, stderr } = invocation;
    const options = parseOptions(argv, { a: 'flag', V: 'flag', replace: 'flag', 'path|p': 'value', ...helpAndVersion });
    const code = helpOrVersion(invocation, command.usage, options);
    if (code !== undefined) return code;
    const directory = options.value('path');
    if (directory === undefined || options.operands.length > 0) return usageError(invocation, command.usage);
    const left = options.flag('a') ? never : [...never, ...logs];
    const tables = ((await client.get('/tables')) as string[])
      .map(tableFromServer)
      .filter((name) => !left.includes(name));
    const dumps = dumpsOf(tables, await client.get(path('tables', tables.join(','), 'dump')));
    const place = { directory, after: '.csv', mode: 0o600 };
    const filesFor = (table: CheckedName): ServerFiles => ({
      ...place,
      replace: options.flag('replace') || isDump(serverFile(place, table)),
    });
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      const written = dumps.map(([table, dump]) => ({ table, dump, files: filesFor(table) }));
      // Half a dump beside half of another would be restored as one.
      for (const { table, files } of written) checkFree(files, table);
      for (const { table, dump, files } of written) {
        if (options.flag('V')) stdout.line(`Dumping table: ${table}`);
        writeServerFile(files, table, csvText(dump));
      }
    } catch (error) {
      const { message } = error as Error;
      stderr.line(
        errorLine(error instanceof InTheWay ? message : `The tables cannot be written to ${directory}: ${message}`),
      );
      return 1;
    }
    stdout.line('Backup Complete.');
    return 0;
  },
};

/** Whether a file was dumped before: the columns of a table stand in its first line, after a #. */
const isDump = (file: string): boolean =>
  lstatSync(file, { throwIfNoEntry: false })?.isFile() === true && readFileSync(file, 'latin1').startsWith('#');

/** Those that were asked for, and all of them. */
function dumpsOf(tables: readonly CheckedName[], reply: unknown): readonly (readonly [CheckedName, Dump])[] {
  const dumps = new Map(Object.entries(reply as Record<string, Dump>));
  const found = tables.map((table) => {
    const dump = dumps.get(table);
    if (!dump) throw new Garbled(`The server did not send the table ${table}, so nothing was written.`);
    return [table, dump] as const;
  });
  if (dumps.size > found.length)
    throw new Garbled('The server sent tables that nobody asked for, so nothing was written.');
  return found;
}
