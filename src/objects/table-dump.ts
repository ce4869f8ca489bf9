import { Fault } from '../core/errors.ts';
import { eachInSlices, mapInSlices, type Interruptible } from '../core/slices.ts';
import { type Draft, redacted } from '../database/draft.ts';
import { secretColumns } from '../database/secret-columns.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { keyOf, type Row, type Table } from '../database/tables.ts';
import { accountKey, hashedForAccounts } from './accounts.ts';
import { redactRow } from './effective.ts';
import { checkIdentity, checkMeaning } from './table-access.ts';

/** A table as it is stored: its columns in their order, and rows of those that have a value, disabled ones too. */
export interface TableDump {
  readonly columns: readonly string[];
  /** Those that distinguish its rows. */
  readonly keys: readonly string[];
  readonly rows: readonly Row[];
}

/** `order` has the keys that are known in the order in which their rows were stored; others follow. */
export async function dumpTable(snapshot: Snapshot, table: Table, order: readonly string[]): Promise<TableDump> {
  const all = snapshot.rows(table.name);
  const keys = new Set([...order, ...all.keys()]);
  const rows = await mapInSlices([...keys], (key) => {
    const row = all.get(key);
    return row ? [withValues(redactRow(table, row))] : [];
  });
  return { columns: table.columns, keys: table.keys, rows: rows.flat() };
}

const withValues = (row: Row): Row => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== ''));

/** Passwords of accounts in the form they are stored in. */
export const hashedRows = (rows: readonly Row[]): Promise<Row[]> =>
  Promise.all(
    rows.map(async (row) =>
      row['key'] === accountKey && row['password']
        ? { ...row, password: await hashedForAccounts(row['password']) }
        : row,
    ),
  );

/** Puts rows into the table, in the place of all it has or beside them. A row takes the place of a stored one as a whole. */
export function* restoreTable(draft: Draft, table: Table, rows: readonly Row[], add: boolean): Interruptible<void> {
  const keys = new Map<string, number>();
  yield* eachInSlices(rows.keys(), (number) => {
    const row = rows[number]!;
    const place = `Row ${number} of table "${table.name}"`;
    checkIdentity(table, row);
    checkMeaning(table, row);
    const key = keyOf(table, row);
    if (keys.has(key)) throw new Fault('invalid', `${place} has the same key as row ${keys.get(key)!}.`);
    keys.set(key, number);
    const stored = draft.base.get(table.name, key);
    if (stored && add) throw new Fault('invalid', `${place} is stored already.`);
    for (const column of secretColumns(table, row))
      if (row[column] === redacted && !stored?.[column])
        throw new Fault('invalid', `${place} hides its ${column}, and none is stored; give it.`);
    draft.merge(table.name, key, stored ? { ...allUnset(table), ...row } : row);
  });
  if (add) return;
  const before = [...draft.base.rows(table.name).entries()];
  yield* eachInSlices(before, ([key]) => {
    if (!keys.has(key)) draft.remove(table.name, key);
  });
}

const allUnset = (table: Table): Record<string, undefined> =>
  Object.fromEntries(table.columns.map((column) => [column, undefined]));
