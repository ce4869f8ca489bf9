import type SQLite from 'better-sqlite3';
import { LoadingTable, rowsPerPage, type SharedTexts, type Values } from '../loaded-rows.ts';
import { SortedMap } from '../sorted-map.ts';
import type { Statements } from '../statements.ts';
import type { Row, Table } from '../tables.ts';

/** Reads a whole table. */
export function loadTable(
  reader: SQLite.Database,
  statements: Statements,
  table: Table,
  texts: SharedTexts,
): SortedMap<Row> {
  // Most columns of most tables are never used, and every value that is handed over costs.
  const counts = reader.prepare(statements.countColumns(table.name)).raw().get() as number[];
  const columns = table.columns.filter((_, i) => counts[i]! > 0);
  if (columns.length === 0) return SortedMap.empty();
  const loading = new LoadingTable(table, columns, texts);
  const first = reader.prepare(statements.selectFirst(table.name, columns)).raw();
  const next = reader.prepare(statements.selectNext(table.name, columns)).raw();
  let after = loading.add(first.all(rowsPerPage) as Values[]);
  while (after) after = loading.add(next.all(...after, rowsPerPage) as Values[]);
  return loading.loaded();
}
