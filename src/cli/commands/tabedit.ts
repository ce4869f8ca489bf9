import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { edited } from '../ask.ts';
import { path } from '../client.ts';
import { type Invocation, say, xcatCommand } from '../command.ts';
import { changing } from '../common-options.ts';
import { Refused } from '../errors.ts';
import { errorLine, resultLine } from '../lines.ts';
import { flag } from '../options.ts';
import { type Dump, readTable, type TableFile, TableFileError, tableLines, tableText } from './table-files.ts';

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
  usage: `Usage: tabrestore [-a] PATH/TABLE.csv
       tabrestore -h | --help | -v | --version

Replaces all rows of a table by those of a file in the form of tabdump; the file's name is that of the table. All rows, or none.`,
  options: { 'addrows|a': flag('add the rows to those that are there') },
  operands: 1,
  common: changing,
  refuse(invocation, { unknown }, usage) {
    for (const name of unknown) invocation.stderr.line(`Unknown option: ${name}`);
    return say(invocation, usage, 1);
  },
  async run(invocation, options) {
    const { client, stdout, stderr } = invocation;
    const [file] = options.operands;
    if (file === undefined) return say(invocation, tabrestore.usage, 2);
    let text: string;
    try {
      text = readFileSync(file, 'utf8');
    } catch {
      stdout.line(`Error: Unable to open ${file} for reading.`);
      return 3;
    }
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
    try {
      await client.call('PUT', path('tables', table, 'dump'), { body, ...(add ? { query: { add: '1' } } : {}) });
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

/** How long entries are kept, by log. */
const retention: Readonly<Record<string, string>> = { auditlog: 'auditretention', eventlog: 'eventretention' };

export const tabprune = xcatCommand({
  usage: `Usage: tabprune TABLE -a [-V]
       tabprune -h | --help | -v | --version

Removes all rows of a table. Logs delete old entries themselves, after site.auditretention and site.eventretention days.`,
  options: {
    a: flag('all rows'),
    n: 'value',
    i: 'value',
    p: 'value',
    d: 'value',
    V: flag('show the rows that were removed'),
  },
  operands: 1,
  common: changing,
  async run(invocation, options) {
    const { client, stdout, stderr, env } = invocation;
    const [name] = options.operands;
    if (name === undefined) return say(invocation, 'A table name must be supplied.', 1);
    const limits = ['a', 'n', 'i', 'p', 'd'] as const;
    const given = limits.filter((limit) => options.has(limit));
    if (given.length === 0) return say(invocation, 'One option -p or -i or -n or -a or -d must be supplied.', 1);
    if (given.length > 1) return say(invocation, 'Only one option -p or -i or -n or -a maybe used at a time.', 1);
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
    const tag = reply.headers['etag'];
    if (rows.length > 0) {
      const headers = tag === undefined ? {} : { 'If-Match': tag };
      await client.call('PUT', path('tables', name, 'dump'), { body: { [name]: [] }, headers });
    }
    if (options.flag('V')) {
      const shown = { env, server: client.server, shown: true };
      for (const line of tableLines({ columns, rows })) stdout.line(resultLine(line, shown));
      return 0;
    }
    if (rows.length === 0) stdout.line(`Nothing to prune from ${name}.`);
    stdout.line(`tabprune of ${name} complete.`);
    return 0;
  },
});
