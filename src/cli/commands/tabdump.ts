import { writeFileSync } from 'node:fs';
import { path } from '../client.ts';
import { Refused } from '../client-errors.ts';
import { csvHeader, csvRow, csvText, type Dump } from '../csv.ts';
import { helpAndVersion, helpOrVersion, usageError } from '../familiar.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import { errorLine, resultLine } from '../lines.ts';
import { parseOptions } from '../options.ts';
import { rowCriterion } from '../row-criteria.ts';

const logs = ['auditlog', 'eventlog'];

export const command: CliCommand = {
  usage: `Usage: tabdump [-d] [TABLE]
       tabdump [-w COLUMN==VALUE]... [-f FILE] TABLE
       tabdump -n NUMBER auditlog | eventlog
       tabdump -h | --help | -v | --version

Shows a table as it is stored, in a form that tabrestore reads; without a table, the names of all.

  -d         describes the tables, or the columns of one
  -f FILE    writes to the file
  -n NUMBER  the latest so many entries of a log
  -w         only rows whose column has the value; also !=, =~ and !~ (with % for any text), >, >=, <, <=`,
  async run(invocation) {
    const { argv, client, stdout, stderr, env } = invocation;
    const table = { d: 'flag', 'file|f': 'value', w: 'values', 'lines|n': 'value', ...helpAndVersion } as const;
    const options = parseOptions(argv, table, { operandsLast: true });
    const code = helpOrVersion(invocation, command.usage, options);
    if (code !== undefined) return code;
    const [name, ...more] = options.operands;
    if (more.length > 0) return usageError(invocation, command.usage);
    if (options.flag('d')) return describe(invocation, name);
    if (name === undefined) {
      for (const each of (await client.get('/tables')) as string[]) stdout.line(each);
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
    const lines = options.value('lines');
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
        writeFileSync(file, csvText({ columns: dump.columns, rows }));
      } catch {
        return fail(`Error on tabdump of ${name} to ${file}. Unable to open the file for write. `);
      }
      return 0;
    }
    const shown = { env, server: client.server };
    await stdout.line(resultLine(csvHeader(dump.columns), shown));
    for (const row of rows) await stdout.line(resultLine(csvRow(dump.columns, row), shown));
    return 0;
  },
};

type Described = Readonly<Record<string, Readonly<Record<string, { meaning: string }>>>>;

async function describe({ client, stdout, stderr }: Invocation, name: string | undefined): Promise<number> {
  const tell = (word: string, text: string) => stdout.line(`${word}:${word.length < 7 ? '\t\t' : '\t'}${text}`);
  if (name === undefined) {
    for (const each of (await client.get('/tables')) as string[]) tell(each, '');
    return 0;
  }
  const type = `tables.${name}`;
  let columns: Described[string] | undefined;
  try {
    columns = ((await client.get(path('attributes', type))) as Described)[type];
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
  }
  if (!columns) {
    stderr.line(errorLine(`table ${name} does not exist.`, client.server));
    return 1;
  }
  for (const [column, { meaning }] of Object.entries(columns)) tell(column, meaning);
  return 0;
}
