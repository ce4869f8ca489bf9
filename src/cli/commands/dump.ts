import { lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { path } from '../client.ts';
import { say, xcatCommand } from '../command.ts';
import { changing } from '../common-options.ts';
import { Garbled } from '../errors.ts';
import {
  type CheckedName,
  checkFree,
  InTheWay,
  serverFile,
  type ServerFiles,
  tableFromServer,
  writeServerFile,
} from '../from-server.ts';
import { errorLine } from '../lines.ts';
import { flag, refused, valued } from '../options.ts';
import { type Dump, readTable, TableFileError, tableText } from './table-files.ts';

/** Not dumped unless -a asks for them: they are large, and no restore takes them. Tokens are worth nothing elsewhere. */
const logs = ['auditlog', 'eventlog'];
const never = ['token'];

export const dumpxCATdb = xcatCommand({
  usage: `Usage: dumpxCATdb [-a] [-V] [--replace] -p DIRECTORY
       dumpxCATdb -h | --help | -v | --version

Writes every table to a file TABLE.csv in the directory, all from the same moment. It replaces an earlier dump. Dumps have no secrets;
muster backup on the management node saves everything.`,
  options: {
    'path|p': valued('DIRECTORY', 'where the files are written'),
    a: flag('the logs too'),
    V: flag('name each table'),
    replace: flag('replace files of these names even if they are not dumps of tables'),
  },
  operands: 0,
  common: ['curl'],
  async run(invocation, options) {
    const { client, stdout, stderr } = invocation;
    const directory = options.value('path');
    if (directory === undefined) return say(invocation, dumpxCATdb.usage, 1);
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
        writeServerFile(files, table, tableText(dump));
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
});

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

/** What no client may write. */
const notWritable = ['token', 'auditlog', 'eventlog'];

export const restorexCATdb = xcatCommand({
  usage: `Usage: restorexCATdb [-V] -p DIRECTORY
       restorexCATdb -h | --help | -v | --version

Replaces the rows of all tables that have a file TABLE.csv in the directory: all of them, or nothing. Logs and tokens stay.`,
  options: {
    'path|p': valued('DIRECTORY', 'where the files are'),
    V: flag('name each table'),
    a: refused('the server keeps its logs as they are; leave -a out.'),
  },
  operands: 0,
  common: changing,
  async run(invocation, options) {
    const { client, stdout, stderr } = invocation;
    const directory = options.value('path');
    if (directory === undefined) return say(invocation, restorexCATdb.usage, 1);
    const fail = (sentence: string): number => {
      stderr.line(errorLine(sentence));
      return 1;
    };
    const body: Record<string, object[]> = {};
    try {
      for (const file of readdirSync(directory)
        .filter((name) => name.endsWith('.csv'))
        .sort()) {
        const table = file.slice(0, -'.csv'.length);
        if (notWritable.includes(table)) continue;
        try {
          body[table] = readTable(readFileSync(join(directory, file), 'utf8')).rows.map(({ row }) => row);
        } catch (error) {
          if (error instanceof TableFileError) return fail(`${file}: ${error.message}`);
          throw error;
        }
      }
    } catch (error) {
      return fail(`The directory ${directory} cannot be read: ${(error as Error).message}`);
    }
    const tables = Object.keys(body);
    if (tables.length === 0) return fail(`There is no TABLE.csv in ${directory}.`);
    await client.call('PUT', path('tables', tables.join(','), 'dump'), { body });
    if (options.flag('V')) for (const table of tables) stdout.line(`Restored table: ${table}`);
    stdout.line('Restore of Database Complete.');
    return 0;
  },
});
