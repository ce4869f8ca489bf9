import { Fault } from '../core/errors.ts';
import { eachInSlices, mapInSlices, type Interruptible } from '../core/slices.ts';
import { type Draft, redacted } from '../database/draft.ts';
import type { SecretBox } from '../access/secrets.ts';
import { replacingSecrets, secretColumns } from '../database/secret-columns.ts';
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

type Secrets = Pick<SecretBox, 'seal' | 'open' | 'opens' | 'isSealed'>;

/** How a dump shows secrets: hidden, for this server alone, or so that everybody can read them. */
export const secretForms = ['sealed', 'clear'] as const;
export type SecretForm = (typeof secretForms)[number];

/** Shows the secrets of rows in that form. Passwords of accounts are hashes, which are sealed here. */
const showingSecrets =
  (box: Secrets, form: SecretForm) =>
  (table: Table, row: Row): Row =>
    replacingSecrets(table, row, (column, stored) => {
      const context = `${table.name}.${column}`;
      if (form === 'sealed') return box.isSealed(stored) ? stored : box.seal(stored, context);
      return box.isSealed(stored) ? box.open(stored, context) : stored;
    });

/** A row of a dump with the secrets that were sealed by this server. Those that another one sealed count as hidden. */
export const withOpenedSecrets = (box: Secrets, table: Table, row: Row): Row =>
  replacingSecrets(table, row, (column, given) => {
    const context = `${table.name}.${column}`;
    if (!box.isSealed(given)) return given;
    return box.opens(given, context) ? box.open(given, context) : redacted;
  });

/** `order` has the keys that are known in the order in which their rows were stored; others follow. */
export async function dumpTable(
  snapshot: Snapshot,
  table: Table,
  order: readonly string[],
  secrets?: { readonly box: Secrets; readonly form: SecretForm },
): Promise<TableDump> {
  const shown = secrets ? showingSecrets(secrets.box, secrets.form) : redactRow;
  const all = snapshot.rows(table.name);
  const keys = new Set([...order, ...all.keys()]);
  const rows = await mapInSlices([...keys], (key) => {
    const row = all.get(key);
    return row ? [withValues(shown(table, row))] : [];
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

interface Restoring {
  /** Beside those that are there. */
  readonly add: boolean;
  /** Hears of a secret that is hidden and not stored; absent: that is an error. */
  readonly leftOut?: ((secret: string) => void) | undefined;
}

/** Puts rows into the table, in the place of all it has or beside them. A row takes the place of a stored one as a whole. */
export function* restoreTable(
  draft: Draft,
  table: Table,
  rows: readonly Row[],
  { add, leftOut }: Restoring,
): Interruptible<void> {
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
    for (const column of secretColumns(table, row)) {
      if (row[column] !== redacted || stored?.[column]) continue;
      if (!leftOut) throw new Fault('invalid', `${place} hides its ${column}, and none is stored; give it.`);
      const name = table.keys.map((each) => row[each] ?? '').join(' ');
      leftOut(`${column} of ${name} in table ${table.name}`);
    }
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
