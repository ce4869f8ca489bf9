import { writeFileSync } from 'node:fs';
import { path } from '../client.ts';
import { type Invocation, xcatCommand } from '../command.ts';
import { type Format, reading } from '../common-options.ts';
import { Refused, UsageError } from '../errors.ts';
import { formatted, writeData } from '../formats.ts';
import { errorLine, ignoredLine, resultLine } from '../lines.ts';
import { filled, flag, repeated, valued } from '../options.ts';
import { type Dump, tableLines, tableText } from './table-files.ts';

/** Which rows of a table are meant. */
interface RowCriterion {
  readonly column: string;
  matches(row: Readonly<Record<string, string>>): boolean;
}

type Comparison = (value: string, wanted: string) => boolean;

/** The sign of the difference: of numbers as numbers, of everything else as texts. */
function compare(value: string, wanted: string): number {
  const [a, b] = [Number(value), Number(wanted)];
  if (value.trim() !== '' && wanted.trim() !== '' && !Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  return value < wanted ? -1 : value === wanted ? 0 : 1;
}

/** As SQL's LIKE: % stands for any text, _ for one character; capitals do not matter. */
function isLike(value: string, pattern: string): boolean {
  const source = pattern
    .replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('%', '.*')
    .replaceAll('_', '.');
  return new RegExp(`^${source}$`, 'is').test(value);
}

const comparisons: readonly (readonly [operator: string, holds: Comparison])[] = [
  ['==', (value, wanted) => value === wanted],
  ['!=', (value, wanted) => value !== wanted],
  ['=~', isLike],
  ['!~', (value, wanted) => !isLike(value, wanted)],
  ['>=', (value, wanted) => compare(value, wanted) >= 0],
  ['<=', (value, wanted) => compare(value, wanted) <= 0],
  ['>', (value, wanted) => compare(value, wanted) > 0],
  ['<', (value, wanted) => compare(value, wanted) < 0],
];

/** `COLUMN==VALUE` and the like; undefined if it is nothing of that kind. A column without a value fulfils nothing. */
function rowCriterion(text: string): RowCriterion | undefined {
  const [, column, operator, wanted = ''] = /^([^=!~<>]+)(==|!=|=~|!~|>=|<=|>|<)(.*)$/s.exec(text) ?? [];
  const holds = comparisons.find(([each]) => each === operator)?.[1];
  if (column === undefined || !holds) return undefined;
  return {
    column,
    matches(row) {
      const value = row[column];
      return value !== undefined && holds(value, wanted);
    },
  };
}

const logs = ['auditlog', 'eventlog'];

/** What options of one letter are found under. */
const longNames: Readonly<Record<string, string>> = { f: 'file', n: 'lines' };

export const tabdump = xcatCommand({
  usage: `Usage: tabdump [-d] [TABLE]
       tabdump [-w COLUMN==VALUE]... [-f FILE] TABLE
       tabdump -n NUMBER auditlog | eventlog
       tabdump -h | --help | -v | --version

Shows a table as it is stored, in a form that tabrestore reads; without a table, the names of all.`,
  options: {
    d: flag('describe the tables, or the columns of one'),
    'file|f': filled('FILE', 'write to the file'),
    'lines|n': valued('NUMBER', 'only the latest NUMBER entries of a log'),
    w: repeated('CRITERION', 'only rows that meet it: COLUMN==VALUE, !=, =~ and !~ (% is any text), >, >=, <, <='),
  },
  rules: { optionsEndAt: 1 },
  operands: 1,
  common: reading,
  async run(invocation, options) {
    const { client, stdout, stderr, env } = invocation;
    const { format } = options.common;
    const [name] = options.operands;
    const lines = options.value('lines');
    if (lines !== undefined && !/^\d{1,15}$/.test(lines))
      throw new UsageError(`-n takes the number of entries, not "${lines}".`);
    const [alone] = ['f', 'n', 'w'].filter((letter) => options.has(longNames[letter] ?? letter));
    if (options.flag('d')) {
      if (alone !== undefined)
        stderr.line(ignoredLine(`-${alone}`, '-d prints descriptions, which are no rows; leave one of both out.'));
      return describe(invocation, name, format);
    }
    if (name === undefined && alone !== undefined)
      throw new UsageError(`-${alone} needs a table: name it as the last word, as in tabdump -${alone} ... TABLE.`);
    if (name === undefined) {
      const names = (await client.get('/tables')) as string[];
      if (format)
        return writeData(
          invocation,
          format,
          names.map((table) => ({ table })),
        );
      for (const each of names) stdout.line(each);
      return 0;
    }
    const fail = (text: string): number => {
      stderr.line(errorLine(text, client.server));
      return 1;
    };
    let dump: Dump;
    try {
      dump = ((await client.get(path('tables', name, 'dump'))) as Record<string, Dump>)[name]!;
    } catch (error) {
      if (error instanceof Refused && error.missing.includes(name)) return fail(`No such table: ${name}`);
      throw error;
    }
    if (lines !== undefined && !logs.includes(name))
      return fail(
        `${name} table is not supported in tabdump -n. You may only use this option on the auditlog or the eventlog.`,
      );
    let rows = dump.rows;
    for (const text of options.values('w')) {
      const criterion = rowCriterion(text);
      if (!criterion) return fail(`Unsupported operator:${text} on -w flag input`);
      if (!dump.columns.includes(criterion.column)) return fail(`No column "${criterion.column}" in table "${name}"`);
      rows = rows.filter(criterion.matches);
    }
    if (lines !== undefined) rows = Number(lines) > 0 ? rows.slice(-Number(lines)) : [];
    const file = options.value('file');
    if (file !== undefined) {
      try {
        writeFileSync(file, format ? await formatted(format, rows) : tableText({ columns: dump.columns, rows }));
      } catch {
        return fail(`Error on tabdump of ${name} to ${file}. Unable to open the file for write. `);
      }
      return 0;
    }
    if (format) return writeData(invocation, format, rows);
    for (const line of tableLines({ columns: dump.columns, rows }))
      await stdout.line(resultLine(line, { env, server: client.server }));
    return 0;
  },
});

type Described = Readonly<Record<string, Readonly<Record<string, { meaning: string }>>>>;

async function describe(invocation: Invocation, name: string | undefined, format: Format | undefined): Promise<number> {
  const { client, stdout, stderr } = invocation;
  const show = (word: string, text: string) => stdout.line(`${word}:${word.length < 7 ? '\t\t' : '\t'}${text}`);
  const type = name === undefined ? 'tables' : `tables.${name}`;
  let columns: Described[string] | undefined;
  try {
    columns = ((await client.get(path('attributes', type))) as Described)[type];
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
  }
  if (!columns) {
    stderr.line(errorLine(`table ${name ?? ''} does not exist.`, client.server));
    return 1;
  }
  if (format)
    return writeData(
      invocation,
      format,
      Object.entries(columns).map(([column, { meaning }]) => ({ column, meaning })),
    );
  for (const [column, { meaning }] of Object.entries(columns)) show(column, meaning);
  return 0;
}
