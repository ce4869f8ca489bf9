import { Fault } from '../core/errors.ts';
import type { Store } from '../database/store.ts';
import type { Row, Table } from '../database/tables.ts';

const maximumRows = 100_000;

/** Rows of an append-only log, straight from the database. */
export async function logRows(
  store: Store,
  table: Table,
  where: Row,
  columns: readonly string[] | undefined,
): Promise<Row[]> {
  await store.flush();
  const rows = await store.database.readLog({ table: table.name, where, after: 0, limit: maximumRows + 1 });
  if (rows.length > maximumRows) {
    throw new Fault(
      'invalid',
      `Table "${table.name}" has more than ${maximumRows} such rows; name them closer, for example by userid.`,
    );
  }
  if (!columns) return rows;
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([column]) => columns.includes(column))));
}
