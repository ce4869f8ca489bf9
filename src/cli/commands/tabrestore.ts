import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { path } from '../client.ts';
import { Refused } from '../client-errors.ts';
import { CsvError, type CsvTable, type Dump, parseCsv } from '../csv.ts';
import { helpAndVersion, helpOrVersion, usageError } from '../familiar.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import { errorLine } from '../lines.ts';
import { parseOptions } from '../options.ts';

export const command: CliCommand = {
  usage: `Usage: tabrestore [-a] PATH/TABLE.csv
       tabrestore -h | --help | -v | --version

Replaces all rows of a table by those of a file in the form of tabdump; the file's name is that of the table. All rows, or none.

  -a   adds the rows to those that are there`,
  async run(invocation) {
    const { argv, client, stdout, stderr } = invocation;
    const options = parseOptions(argv, { 'addrows|a': 'flag', ...helpAndVersion });
    for (const unknown of options.unknown) stderr.line(`Unknown option: ${unknown}`);
    const code = helpOrVersion(invocation, command.usage, options);
    if (code !== undefined) return code;
    const [file] = options.operands;
    if (file === undefined) return usageError(invocation, command.usage, 2);
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
    let given: CsvTable;
    try {
      given = parseCsv(text);
    } catch (error) {
      if (error instanceof CsvError) return fail(error.message, error.header ? 1 : 4);
      throw error;
    }
    const strange = given.columns.find((column) => !dump.columns.includes(column));
    if (strange !== undefined) return fail(`The header has the column ${strange}, which table ${table} has not.`, 1);
    const add = options.flag('addrows');
    if (add && tellStored(invocation, table, given, dump)) return 4;
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
};

/** Says which rows cannot be added because there are such already. */
function tellStored({ stderr, client }: Invocation, table: string, { rows }: CsvTable, dump: Dump): boolean {
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
