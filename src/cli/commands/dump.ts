import { lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { path } from '../client.ts';
import { asked } from '../ask.ts';
import { type Invocation, say, xcatCommand } from '../command.ts';
import { changing } from '../common-options.ts';
import { readObjects } from '../definitions/reading.ts';
import { Garbled, Refused, UsageError } from '../errors.ts';
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
import { replacementConfirmed } from '../nodes/confirm.ts';
import { filled, flag, refused } from '../options.ts';
import { warn } from '../server-work.ts';
import { type Dump, readTable, TableFileError, tableText } from './table-files.ts';
import { utf8Text } from '../utf8.ts';

/** Not dumped unless -a asks for them: they are large, and no restore takes them. */
const logs = ['auditlog', 'eventlog'];
/** Tokens are worth nothing elsewhere, and accounts of the site are found when they log in. */
const never = ['token', 'siteaccount', 'oidcgrant'];

const skippedTables =
  'Tables that site.skiptables, or the variable XCAT_SKIPTABLES, names are neither dumped nor restored.';

export const dumpxCATdb = xcatCommand({
  usage: `Usage: dumpxCATdb [-a] [-V] [--replace] -p DIRECTORY
       dumpxCATdb -h | --help | -v | --version

Writes every table to a file TABLE.csv in the directory, all from the same moment. It replaces an earlier dump. Secrets are sealed: only a
server with the same key (secret.key in its data directory) can restore them. muster backup on the management node saves everything.`,
  options: {
    'path|p': filled('DIRECTORY', 'where the files are written'),
    a: flag('the logs too'),
    V: flag('name each table'),
    'with-secrets': flag('write passwords and other secrets in clear text, so that any server can restore them'),
    b: refused('muster backup saves the whole database.'),
    replace: flag('replace files of these names even if they are not dumps of tables'),
  },
  notes: skippedTables,
  operands: 0,
  common: ['curl', 'yes'],
  async run(invocation, options) {
    const { client, stdout, stderr } = invocation;
    const directory = options.value('path');
    if (directory === undefined) return say(invocation, dumpxCATdb.usage, 1);
    const clear = options.flag('with-secrets');
    if (clear && !(await mayShowSecrets(invocation, options.common.yes))) return 1;
    const left = [...never, ...(options.flag('a') ? [] : logs), ...(await skipped(invocation))];
    const tables = ((await client.get('/tables')) as string[])
      .map(tableFromServer)
      .filter((name) => !left.includes(name));
    const dumps = dumpsOf(tables, await readDump(invocation, tables, clear ? 'clear' : 'sealed'));
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

/** Tables that are left out, which is said. */
async function skipped({ client, env, stderr }: Invocation): Promise<readonly string[]> {
  const { objects } = await readObjects(client, {
    type: 'site',
    names: undefined,
    attributes: ['skiptables'],
    hidden: false,
  });
  const listed = [objects.get('clustersite')?.['skiptables'], env['XCAT_SKIPTABLES']];
  const names = listed.flatMap((text) => (text ?? '').split(',')).map((name) => name.trim());
  const tables = names.filter((name) => name !== '');
  if (tables.length > 0) stderr.line(`Left out, as site.skiptables or XCAT_SKIPTABLES says: ${tables.join(', ')}`);
  return tables;
}

async function mayShowSecrets({ stdout, stderr, terminal }: Invocation, yes: boolean): Promise<boolean> {
  if (yes) return true;
  if (terminal.stdin && terminal.stdout) {
    await stdout.flush();
    return asked('The files will have all passwords in clear text. Write them?');
  }
  stderr.line(errorLine('--with-secrets writes all passwords in clear text; add --yes if you want that.'));
  return false;
}

/** Who may not read secrets gets the rest. */
async function readDump({ client, stderr }: Invocation, tables: readonly string[], secrets: string): Promise<unknown> {
  const at = path('tables', tables.join(','), 'dump');
  try {
    return await client.get(at, { query: { secrets } });
  } catch (error) {
    if (!(error instanceof Refused) || error.kind !== 'denied' || secrets === 'clear') throw error;
    const dump = await client.get(at);
    stderr.line('The dump has no secrets, since reading them needs full rights. A restore keeps those that are there.');
    return dump;
  }
}

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
const notWritable = [...never, ...logs];

export const restorexCATdb = xcatCommand({
  usage: `Usage: restorexCATdb [-V] -p DIRECTORY
       restorexCATdb -h | --help | -v | --version

Replaces the rows of all tables that have a file TABLE.csv in the directory: all of them, or nothing. Logs and tokens stay. A secret that
the dump does not have, or that another server sealed, stays as it is here; if there is none, the command says so.`,
  options: {
    'path|p': filled('DIRECTORY', 'where the files are'),
    V: flag('name each file, and whether it was restored'),
    a: refused('the server keeps its logs as they are; leave -a out.'),
    b: refused('muster restore brings back what muster backup saved.'),
    't|timestamp': refused('it goes with -b.', 'value'),
  },
  notes: skippedTables,
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
    const left = [...notWritable, ...(await skipped(invocation))];
    const body: Record<string, object[]> = {};
    const steps: string[] = [];
    try {
      for (const file of readdirSync(directory)
        .filter((name) => name.endsWith('.csv'))
        .sort()) {
        const table = file.slice(0, -'.csv'.length);
        steps.push(`${left.includes(table) ? 'Skipping' : 'Restoring'} ${file}`);
        if (left.includes(table)) continue;
        try {
          body[table] = readTable(utf8Text(readFileSync(join(directory, file)), file)).rows.map(({ row }) => row);
        } catch (error) {
          if (error instanceof TableFileError) return fail(`${file}: ${error.message}`);
          if (error instanceof UsageError) return fail(error.message);
          throw error;
        }
      }
    } catch (error) {
      return fail(`The directory ${directory} cannot be read: ${(error as Error).message}`);
    }
    const tables = Object.keys(body);
    if (tables.length === 0) return fail(`There is no TABLE.csv in ${directory}.`);
    const request = { at: path('tables', tables.join(','), 'dump'), body, query: { secrets: 'leave' } };
    if (!(await replacementConfirmed(invocation, request, options.common))) return 1;
    await client.call('PUT', request.at, { body, query: request.query });
    // Also where nobody is at a terminal: a password is missing.
    warn(invocation, [...client.notes]);
    client.notes.clear();
    if (options.flag('V')) for (const step of steps) stdout.line(step);
    stdout.line('Restore of Database Complete.');
    return 0;
  },
});
