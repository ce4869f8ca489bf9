import type { ClientBase } from 'pg';
import { LoadingTable, rowsPerPage, type SharedTexts } from '../loaded-rows.ts';
import { SortedMap } from '../sorted-map.ts';
import type { Statements } from '../statements.ts';
import type { Row, Table } from '../tables.ts';

/** Reads a whole table. */
export async function loadTable(
  client: ClientBase,
  statements: Statements,
  table: Table,
  texts: SharedTexts,
): Promise<SortedMap<Row>> {
  // Most columns of most tables are never used, and every value that is handed over costs.
  const counted = await client.query<number[]>({ text: statements.countColumns(table.name), rowMode: 'array' });
  const columns = table.columns.filter((_, i) => counted.rows[0]![i]! > 0);
  if (columns.length === 0) return SortedMap.empty();
  const loading = new LoadingTable(table, columns, texts);
  const read = async (text: string, values: readonly unknown[]): Promise<string[] | undefined> =>
    loading.add((await client.query<(string | null)[]>({ text, values: [...values], rowMode: 'array' })).rows);
  let after = await read(statements.selectFirst(table.name, columns), [rowsPerPage]);
  const next = statements.selectNext(table.name, columns);
  while (after) after = await read(next, [...after, rowsPerPage]);
  return loading.loaded();
}
