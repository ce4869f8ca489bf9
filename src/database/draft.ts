import { Fault } from '../core/errors.ts';
import type { RowChange } from './changeset.ts';
import { checkText, checkValue } from './checks.ts';
import type { Snapshot } from './snapshot.ts';
import { secretColumns } from './secret-columns.ts';
import { type GoesWith, keyOf, type Row, snapshotTables, type Table, tableNamed } from './tables.ts';

/** What a secret column shows on every read; writing it back leaves the stored value as it is. */
export const redacted = '********';

/** How a secret column's clear text becomes what is stored. */
export type Seal = (table: Table, column: string, clear: string, row: Row) => string;

/** New column values; undefined unsets the column. */
export type Columns = Readonly<Record<string, string | undefined>>;

/** Collects the row changes of one change set. Reads see what was already put into it. */
export class Draft {
  readonly base: Snapshot;
  readonly #seal: Seal | undefined;
  readonly #changes = new Map<string, Map<string, RowChange>>();
  #materialised: Snapshot | undefined;

  /** Without a seal it takes no secrets. */
  constructor(base: Snapshot, seal?: Seal) {
    this.base = base;
    this.#seal = seal;
  }

  get(table: string, key: string): Row | undefined {
    const change = this.#changes.get(table)?.get(key);
    return change ? change.after : this.base.get(table, key);
  }

  /** Changes the given columns of the row, or makes the row. Values are checked and secrets sealed here, for every way in. */
  merge(tableName: string, key: string, columns: Columns): void {
    const table = tableNamed(tableName);
    const earlier = this.#changes.get(tableName)?.get(key);
    const before = earlier ? earlier.after : this.base.get(tableName, key);
    const row: Record<string, string> = { ...before };
    for (const column in columns) {
      const value = columns[column];
      if (!table.columns.includes(column)) throw unknownColumn(table, column);
      // Databases keep no difference between an empty and an unset key.
      if (value === undefined || (value === '' && table.keys.includes(column))) delete row[column];
      else if (value !== before?.[column]) row[column] = value;
    }
    const secret = secretColumns(table, row);
    const known = before && storedAlike(table, before, secret, columns) ? before : undefined;
    for (const column in columns) {
      const value = row[column];
      if (value === undefined || value === known?.[column]) continue;
      if (secret.has(column)) {
        if (value === redacted) {
          if (known?.[column] === undefined) delete row[column];
          else row[column] = known[column];
        } else if (value !== '') {
          if (!this.#seal) throw new Error(`${table.name}.${column} is secret, and this change set has no seal.`);
          checkText(value, `${table.name}.${column}`);
          row[column] = this.#seal(table, column, value, row);
        }
      } else checkValue(table, column, value, row);
    }
    const newKey = keyOf(table, row);
    if (newKey !== key) {
      if (this.get(tableName, newKey)) {
        const taken = table.keys.map((column) => `${column}=${row[column] ?? ''}`).join(',');
        throw new Fault('invalid', `Table "${tableName}" already has a row with ${taken}.`);
      }
      if (before) this.#set(table, key, undefined);
    }
    if (newKey === key) this.#note(table, key, earlier ? earlier.before : before, row);
    else this.#set(table, newKey, row);
  }

  remove(tableName: string, key: string): void {
    this.#set(tableNamed(tableName), key, undefined);
  }

  /** Puts a row as it is stored, without checks: for rows that were stored before. */
  putStored(tableName: string, row: Row): void {
    const table = tableNamed(tableName);
    this.#set(table, keyOf(table, row), row);
  }

  /** All that was put into it, and what goes with that. */
  changes(): RowChange[] {
    const changes: RowChange[] = [];
    for (const rows of this.#changes.values()) {
      for (const change of rows.values()) if (!sameRow(change.before, change.after)) changes.push(change);
    }
    return withDependents(this.base, changes);
  }

  /** The database as it would be with the changes so far. */
  snapshot(): Snapshot {
    return (this.#materialised ??= this.base.apply(this.changes(), this.base.revision));
  }

  #set(table: Table, key: string, after: Row | undefined): void {
    this.#note(table, key, this.base.get(table.name, key), after);
  }

  #note(table: Table, key: string, before: Row | undefined, after: Row | undefined): void {
    this.#materialised = undefined;
    let rows = this.#changes.get(table.name);
    if (!rows) this.#changes.set(table.name, (rows = new Map()));
    rows.set(key, { table: table.name, key, before, after });
  }
}

const unknownColumn = (table: Table, column: string): Fault =>
  new Fault('invalid', `Table "${table.name}" has no column "${column}"; it has ${table.columns.join(', ')}.`, {
    missing: [`${table.name}.${column}`],
  });

/** Whether the row keeps its secrets in the same columns. A value cannot follow it to a name under which it is stored in another form. */
function storedAlike(table: Table, before: Row, secret: ReadonlySet<string>, given: Columns): boolean {
  const wasSecret = secretColumns(table, before);
  if (wasSecret === secret) return true;
  for (const column of wasSecret.symmetricDifference(secret)) {
    if (!before[column] || (column in given && given[column] !== redacted)) continue;
    throw new Fault(
      'invalid',
      `Table "${table.name}": by one of the two names the ${column} is a secret, by the other it is not. Give the ${column} together with the new name.`,
    );
  }
  return false;
}

function sameRow(a: Row | undefined, b: Row | undefined): boolean {
  if (a === b) return true;
  if (!a || !b) return false;
  for (const column in a) if (a[column] !== b[column]) return false;
  for (const column in b) if (a[column] === undefined) return false;
  return true;
}

const dependentTables = snapshotTables.flatMap(({ name, goesWith }) =>
  goesWith.map((each) => ({ name, goesWith: each })),
);
const ownedTables = snapshotTables.flatMap(({ name, ownedBy }) => ownedBy.map((each) => ({ name, ownedBy: each })));

/**
 * The changes and, in the same change set, the end of rows that live by one of the changed: whoever changes an account ends its tokens,
 * whichever way the change comes. What the change set itself adds stays, as when accounts and tokens are imported together.
 */
function withDependents(base: Snapshot, changes: RowChange[]): RowChange[] {
  let all = changes;
  for (const { name, goesWith } of dependentTables) {
    const touched = touchedValues(goesWith, all, ({ before, after }) => differ(before, after, goesWith.by));
    if (touched.size === 0) continue;
    const gone = new Map<string, RowChange>();
    for (const [key, before] of base.rows(name).entries()) {
      if (touched.has(before[goesWith.column] ?? '')) gone.set(key, { table: name, key, before, after: undefined });
    }
    all = [...all.filter(({ table, key }) => table !== name || !gone.has(key)), ...gone.values()];
  }
  return withoutOwners(base, all);
}

/** Rows whose owner is made or removed by the changes. What these change themselves stays as they say. */
function withoutOwners(base: Snapshot, changes: RowChange[]): RowChange[] {
  let all = changes;
  for (const { name, ownedBy } of ownedTables) {
    const { owner, by } = ownedBy;
    const owners = touchedValues(
      ownedBy,
      changes,
      ({ before, after }) => !before || !after || (by !== undefined && differ(before, after, by)),
    );
    if (owners.size === 0) continue;
    const changed = new Set(all.flatMap(({ table, key }) => (table === name ? key : [])));
    const disowned = [...base.rows(name).entries()].flatMap(([key, before]) =>
      owners.has(before[owner] ?? '') && !changed.has(key)
        ? { table: name, key, before, after: { ...before, [owner]: '' } }
        : [],
    );
    all = [...all, ...disowned];
  }
  return all;
}

function touchedValues(
  { table, where, column }: GoesWith,
  changes: readonly RowChange[],
  counts: (change: RowChange) => boolean,
): Set<string> {
  const touched = new Set<string>();
  const wanted = Object.entries(where);
  for (const change of changes) {
    if (change.table !== table || !counts(change)) continue;
    for (const row of [change.before, change.after])
      if (row && wanted.every(([name, value]) => row[name] === value)) touched.add(row[column] ?? '');
  }
  return touched;
}

/** Whether rows differ in these columns, or in more than what is noted about them. */
function differ(
  { comments: _was, ...before }: Row = {},
  { comments: _is, ...after }: Row = {},
  columns: readonly string[] = Object.keys({ ...before, ...after }),
): boolean {
  return columns.some((column) => before[column] !== after[column]);
}
