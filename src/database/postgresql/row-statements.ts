import { removedTable } from '../own-tables.ts';
import { joinKey, tableNamed } from '../tables.ts';
import { type NetChanges, type NetRow, setColumns } from './net-changes.ts';
import type { PostgresStatements } from './statements.ts';

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Rows of one statement. */
const rowsPerStatement = 5_000;

/** The statements that make the tables what the change sets of a batch say. */
export function rowStatements(statements: PostgresStatements, { tables }: NetChanges): Statement[] {
  return [...tables].flatMap(([table, rows]) => [
    ...removals(statements, table, rows),
    ...departures(table, rows),
    ...additions(statements, table, rows),
    ...updates(statements, table, rows),
  ]);
}

type Rows = ReadonlyMap<string, NetRow>;
type Values = readonly (string | number | null)[];

function removals(statements: PostgresStatements, table: string, rows: Rows): Statement[] {
  const removed: Values[] = [];
  for (const [key, { removed: time }] of rows)
    if (time !== undefined) removed.push([...keyValues(table, key), storedKey(key), time]);
  const keys = tableNamed(table).keys.length;
  return inPieces(removed, (values) => [
    { text: statements.noteRemovedRows(table), values },
    { text: statements.removeRows(table), values: values.slice(0, keys) },
  ]);
}

function departures(table: string, rows: Rows): Statement[] {
  const gone: Values[] = [];
  for (const [key, { left }] of rows) if (left) gone.push([storedKey(key), left.time, left.ordinal]);
  return inPieces(gone, (values) => [{ text: noteDeparted, values: [...values, table] }]);
}

const noteDeparted = `insert into ${removedTable} (name, key, time, ordinal)
  select $4, key, time, ordinal from unnest($1::text[], $2::bigint[], $3::bigint[]) as given(key, time, ordinal)
  on conflict (name, key) do update set time = excluded.time, ordinal = excluded.ordinal`;

function additions(statements: PostgresStatements, table: string, rows: Rows): Statement[] {
  const groups = new Groups();
  for (const [key, { added }] of rows) {
    if (!added) continue;
    const row = setColumns(added.columns);
    groups.add(Object.keys(row), [...Object.values(row), added.takesBack ? storedKey(key) : null, added.ordinal]);
  }
  return groups.statements((columns) => statements.insertRows(table, columns));
}

function updates(statements: PostgresStatements, table: string, rows: Rows): Statement[] {
  const groups = new Groups();
  for (const [key, { updated }] of rows)
    if (updated) groups.add(Object.keys(updated), [...Object.values(updated), ...keyValues(table, key)]);
  return groups.statements((columns) => statements.updateRows(table, columns));
}

/** Rows by the columns that they have. */
class Groups {
  readonly #groups = new Map<string, { readonly columns: readonly string[]; readonly rows: Values[] }>();

  add(columns: readonly string[], values: Values): void {
    const name = columns.join();
    const group = this.#groups.get(name);
    if (group) group.rows.push(values);
    else if (columns.length > 0) this.#groups.set(name, { columns, rows: [values] });
  }

  statements(textOf: (columns: readonly string[]) => string): Statement[] {
    return [...this.#groups.values()].flatMap(({ columns, rows }) =>
      inPieces(rows, (values) => [{ text: textOf(columns), values }]),
    );
  }
}

/** Statements for all rows, whose parameters are the columns of some of them. */
function inPieces(rows: readonly Values[], make: (values: unknown[][]) => Statement[]): Statement[] {
  const statements: Statement[] = [];
  for (let from = 0; from < rows.length; from += rowsPerStatement) {
    const piece = rows.slice(from, from + rowsPerStatement);
    statements.push(...make(piece[0]!.map((_, column) => piece.map((row) => row[column]))));
  }
  return statements;
}

const separator = '\u0000';

const keyValues = (table: string, key: string): string[] =>
  key.includes(separator) ? key.split(separator).slice(0, tableNamed(table).keys.length) : [key];

/** A storage key as PostgreSQL can hold it, which has no such character. */
export const storedKey = (key: string): string =>
  key.includes(separator) ? JSON.stringify(key.split(separator)) : key;

/** What that was made of, for a row of a table. */
export const plainKey = (table: string, stored: string): string =>
  tableNamed(table).keys.length > 1 ? joinKey(JSON.parse(stored) as string[]) : stored;
