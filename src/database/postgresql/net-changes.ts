import type { JournalColumns, JournalRow } from '../changeset.ts';
import type { Row } from '../tables.ts';

/** When a change set is written, where its rows go, and whether rows that it adds may go where they were before. */
export interface Place {
  readonly ordinal: number;
  readonly time: number;
  readonly takesBack: boolean;
}

interface Added extends Place {
  readonly columns: JournalColumns;
}

/** What a batch makes of one row; the members are to be done in this order. */
export interface NetRow {
  /** When the row that was there goes. */
  removed?: number;
  /** Where a row stood that came and went within the batch. */
  left?: { readonly ordinal: number; readonly time: number };
  added?: Added;
  /** Columns of the row that was there. */
  updated?: JournalColumns;
}

/** What all change sets of a batch make of the rows, by table and key: as many statements do for one change set as for a thousand. */
export class NetChanges {
  readonly tables = new Map<string, Map<string, NetRow>>();

  add(table: string, [key, before, after]: JournalRow, place: Place): void {
    let rows = this.tables.get(table);
    if (!rows) this.tables.set(table, (rows = new Map()));
    let net = rows.get(key);
    if (!net) rows.set(key, (net = {}));
    if (after === null) remove(net, place);
    else if (before === null) {
      // What was observed of it before it was there is of no row.
      delete net.updated;
      net.added = { columns: after, ...place };
    } else if (net.added) net.added = { ...net.added, columns: { ...net.added.columns, ...after } };
    else if (net.removed === undefined) net.updated = { ...net.updated, ...after };
  }
}

function remove(net: NetRow, { time }: Place): void {
  const { added } = net;
  delete net.added;
  delete net.updated;
  if (!added) net.removed = time;
  // One that was put back where it was had left its place before.
  else if (!added.takesBack) net.left = { ordinal: added.ordinal, time };
}

/** The columns that are set. */
export const setColumns = (columns: JournalColumns): Row =>
  Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== null)) as Row;
