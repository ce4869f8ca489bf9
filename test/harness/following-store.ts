// A store on the database named on the command line. It tells its parent whenever it shows something new, and writes what it is told to.
import type { RowChange } from '../../src/database/changeset.ts';
import { Draft } from '../../src/database/draft.ts';
import { SqliteDatabase } from '../../src/database/sqlite/sqlite.ts';
import type { Snapshot } from '../../src/database/snapshot.ts';
import { Store } from '../../src/database/store.ts';
import { keyOf, type Row, snapshotTables, tableNamed } from '../../src/database/tables.ts';
import { contents } from './random-changes.ts';

/** What the store shows. */
export interface Shown {
  readonly revision: number;
  readonly sequence: number;
  readonly contents: Readonly<Record<string, readonly (readonly [key: string, row: Row])[]>>;
}

export type Order = { readonly table: string; readonly row: Row } | 'close';

export const shown = (snapshot: Snapshot): Shown => ({
  revision: snapshot.revision,
  sequence: snapshot.sequence,
  contents: contents(snapshot, snapshotTables),
});

/** The change that merges the row. */
export const merging =
  (table: string, row: Row) =>
  (head: Snapshot): RowChange[] => {
    const draft = new Draft(head);
    draft.merge(table, keyOf(tableNamed(table), row), row);
    return draft.changes();
  };

const [, , file] = process.argv;
if (process.send && file !== undefined && import.meta.main) {
  const store = await Store.open(await SqliteDatabase.open(file));
  const tell = (snapshot: Snapshot) => process.send!(shown(snapshot));
  store.subscribe(tell);
  process.on('message', (order: Order) => {
    if (order === 'close') void store.close().then(() => process.disconnect());
    else void store.change({ user: 'u', client: 'c', command: 'x', run: 'r' }, merging(order.table, order.row));
  });
  tell(store.current);
}
