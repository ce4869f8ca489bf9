import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { edited } from '../ask.ts';
import { path } from '../client.ts';
import { type Invocation, refuseByName, say, xcatCommand } from '../command.ts';
import { changing } from '../common-options.ts';
import { Refused, UsageError } from '../errors.ts';
import { errorLine, ignoredLine, resultLine } from '../lines.ts';
import { agreedTo, questionLimit, replacementConfirmed } from '../nodes/confirm.ts';
import { flag, valued } from '../options.ts';
import { type Dump, readTable, type TableFile, TableFileError, tableLines, tableText } from './table-files.ts';
import { utf8Text } from '../utf8.ts';

export const tabedit = xcatCommand({
  usage: `Usage: tabedit TABLE
       tabedit -h | --help | -v | --version

Opens a table in $TABEDITOR, $VISUAL or $EDITOR, shows what has changed, and writes all of it or nothing.`,
  operands: 1,
  common: changing,
  async run(invocation, options) {
    const { client, stdout, stderr, env } = invocation;
    const [table] = options.operands;
    if (table === undefined) return say(invocation, tabedit.usage, 1);
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
    const before = tableText(dump);
    const result = await edited(before, `${table}.csv`, env);
    if (result.failure !== undefined) return fail(result.failure);
    if (result.text === before) {
      stdout.line('No file modifications detected, not restoring.');
      return 0;
    }
    try {
      const { columns, rows } = readTable(result.text);
      const strange = columns.find((column) => !dump.columns.includes(column));
      if (strange !== undefined) throw new TableFileError(`There is no column ${strange} in table ${table}.`);
      for (const line of changedLines(before, result.text)) stdout.line(line);
      const tag = reply.headers['etag'];
      await client.call('PUT', path('tables', table, 'dump'), {
        body: { [table]: rows.map(({ row }) => row) },
        ...(tag === undefined ? {} : { headers: { 'If-Match': tag } }),
      });
    } catch (error) {
      if (!(error instanceof TableFileError) && !(error instanceof Refused)) throw error;
      const sentences = error instanceof Refused ? error.sentences : [error.message];
      for (const sentence of sentences) fail(sentence);
      return fail(`Nothing was changed; what you wrote is in ${result.keep()}.`);
    }
    return 0;
  },
});

/** Lines that went, with a minus before them, and lines that came, with a plus. */
function changedLines(before: string, after: string): string[] {
  const [old, now] = [new Set(before.split('\n')), new Set(after.split('\n'))];
  return [
    ...[...old].filter((line) => !now.has(line)).map((line) => `-${line}`),
    ...[...now].filter((line) => !old.has(line)).map((line) => `+${line}`),
  ];
}

export const tabrestore = xcatCommand({
  names: 'file',
  usage: `Usage: tabrestore [-a] PATH/TABLE.csv
       tabrestore -h | --help | -v | --version

Replaces all rows of a table by those of a file in the form of tabdump; the file's name is that of the table. All rows, or none.`,
  options: { 'addrows|a': flag('add the rows to those that are there') },
  operands: 1,
  common: changing,
  refuse: refuseByName,
  async run(invocation, options) {
    const { client, stdout, stderr } = invocation;
    const [file] = options.operands;
    if (file === undefined) return say(invocation, tabrestore.usage, 2);
    let bytes: Buffer;
    try {
      bytes = readFileSync(file);
    } catch {
      stdout.line(`Error: Unable to open ${file} for reading.`);
      return 3;
    }
    const text = utf8Text(bytes, file);
    const table = basename(file).replace(/\..*$/s, '');
    const fail = (sentence: string, status = 4): number => {
      stderr.line(errorLine(sentence, client.server));
      return status;
    };
    let dump: Dump;
    try {
      dump = ((await client.get(path('tables', table, 'dump'))) as Record<string, Dump>)[table]!;
    } catch (error) {
      if (error instanceof Refused && error.missing.includes(table)) return fail(`Unable to open ${table}`);
      throw error;
    }
    let given: TableFile;
    try {
      given = readTable(text);
    } catch (error) {
      if (error instanceof TableFileError) return fail(error.message, error.header ? 1 : 4);
      throw error;
    }
    const strange = given.columns.find((column) => !dump.columns.includes(column));
    if (strange !== undefined) return fail(`The header has the column ${strange}, which table ${table} has not.`, 1);
    const add = options.flag('addrows');
    if (add && reportStored(invocation, table, given, dump)) return 4;
    const body = { [table]: given.rows.map(({ row }) => row) };
    const at = path('tables', table, 'dump');
    try {
      if (!add && !(await replacementConfirmed(invocation, { at, body }, options.common))) return 1;
      await client.call('PUT', at, { body, ...(add ? { query: { add: '1' } } : {}) });
    } catch (error) {
      if (!(error instanceof Refused) || error.isDenied) throw error;
      for (const sentence of error.sentences) fail(sentence);
      return 4;
    }
    return 0;
  },
});

/** Says which rows cannot be added because there are such already. */
function reportStored({ stderr, client }: Invocation, table: string, { rows }: TableFile, dump: Dump): boolean {
  const keys = dump.keys.filter((key) => rows.some(({ row }) => row[key] !== undefined));
  const identity = (row: Readonly<Record<string, string>>): string => keys.map((key) => row[key] ?? '').join('\0');
  const stored = new Set(dump.rows.map(identity));
  const named = keys.map((key) => `${table}.${key}`).join(', ');
  let found = false;
  for (const [number, { row, text }] of rows.entries()) {
    if (!stored.has(identity(row))) continue;
    found = true;
    stderr.line(errorLine(`DB error UNIQUE constraint failed: ${named} with line ${number}: ${text}`, client.server));
  }
  return found;
}

const logs = ['auditlog', 'eventlog'];
/** What each option is called in the request. */
const ways = { n: 'number', p: 'percent', i: 'recid', d: 'days' } as const;
const onlyOne = 'Only one option -p or -i or -n or -a maybe used at a time.';

export const tabprune = xcatCommand({
  usage: `Usage: tabprune auditlog | eventlog [-V] -a | -n NUMBER | -i RECID | -p PERCENT | -d DAYS
       tabprune TABLE [-V] -a
       tabprune -h | --help | -v | --version

Removes old records of a log, or all rows of a table. The audit log keeps the records that say who removed what. Logs also delete old
records themselves, after site.auditretention and site.eventretention days. site.logpruning=no forbids to remove records of logs.`,
  options: {
    a: flag('all rows'),
    'n|number': valued('NUMBER', 'the oldest records, so many of them'),
    'i|recid': valued('RECID', 'records with a smaller recid'),
    'p|percent': valued('PERCENT', 'the oldest records, so many per cent'),
    'd|days': valued('DAYS', 'records that are older than so many days'),
    V: flag('show the rows that were removed; of a log this needs the right to read it (tabdump)'),
  },
  notes: '--dry-run is for tables. Records of a log cannot be tried; tabdump -n shows the newest ones.',
  operands: 1,
  common: changing,
  async run(invocation, options) {
    const { client, stdout, stderr } = invocation;
    const name = options.operands[0]?.trim();
    if (name === undefined) return say(invocation, 'Table name required.', 1);
    const given = (['a', 'n', 'i', 'p', 'd'] as const).filter((limit) => options.has(limit));
    const isLog = logs.includes(name);
    if (!isLog && !options.flag('a'))
      return say(invocation, `Table ${name} not supported, see tabprune -h for supported tables.`, 1);
    const [way] = given;
    if (way === undefined) return say(invocation, 'One option -p or -i or -n or -a or -d must be supplied.', 1);
    if (given.length > 1) return say(invocation, onlyOne, 1);
    const shows = options.flag('V');
    const limit = questionLimit(invocation, options.common);
    if (isLog) {
      const value = way === 'a' ? undefined : options.value(way);
      // An unset variable is an empty word, and no number.
      if (value !== undefined && (!/^\d{1,15}$/.test(value) || (way === 'p' && Number(value) > 100)))
        throw new UsageError(
          `-${way} takes ${way === 'p' ? 'a whole number from 0 to 100' : 'a whole number'}, not "${value}". Nothing was removed.`,
        );
      if (way === 'a' && limit !== undefined && !(await agreedTo(invocation, `Remove all records of ${name}?`)))
        return 1;
      const body = { ...(way === 'a' ? { all: true } : { [ways[way]]: Number(value) }), ...(shows ? { shows } : {}) };
      const pruned = (await client.call('POST', path('tables', name, 'prune'), { body })).body as PrunedLog;
      return told(invocation, name, { columns: pruned.columns ?? [], rows: pruned.rows ?? [] }, shows);
    }
    let reply;
    try {
      reply = await client.call('GET', path('tables', name, 'dump'));
    } catch (error) {
      if (!(error instanceof Refused) || !error.missing.includes(name)) throw error;
      // In xCAT's words; what they mean comes last.
      stdout.line(`tabprune of ${name} complete.`);
      await stdout.flush();
      stderr.line(errorLine(`Unable to open  ${name}`, client.server));
      stderr.line(ignoredLine(name, 'there is no such table, and nothing was removed; tabdump lists the tables.'));
      return 5;
    }
    const dump = (reply.body as Record<string, Dump>)[name]!;
    const tag = reply.headers['etag'];
    if (dump.rows.length > 0) {
      const asks = limit !== undefined && dump.rows.length > limit;
      if (asks && !(await agreedTo(invocation, `Remove all ${dump.rows.length} rows of table ${name}?`))) return 1;
      const headers = tag === undefined ? {} : { 'If-Match': tag };
      await client.call('PUT', path('tables', name, 'dump'), { body: { [name]: [] }, headers });
    } else if (!shows) stdout.line(`Nothing to prune from ${name}.`);
    return told(invocation, name, dump, shows);
  },
});

interface PrunedLog {
  readonly removed: number;
  readonly columns?: readonly string[];
  readonly rows?: Dump['rows'];
}

async function told(
  { client, stdout, env }: Invocation,
  name: string,
  pruned: Omit<Dump, 'keys'>,
  shows: boolean,
): Promise<number> {
  if (!shows) stdout.line(`tabprune of ${name} complete.`);
  else
    for (const line of tableLines(pruned))
      await stdout.line(resultLine(line, { env, server: client.server, shown: true }));
  return 0;
}
