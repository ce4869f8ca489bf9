import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { type Row, tableNamed } from './tables.ts';

/** One row before and after; undefined: the row was or is not there. */
export interface RowChange {
  readonly table: string;
  readonly key: string;
  readonly before: Row | undefined;
  readonly after: Row | undefined;
}

/** Who asked for a change set and how; kept with it in the journal. */
export interface Origin {
  readonly user: string;
  readonly client: string;
  readonly command: string;
  readonly run: string;
  /** The revision of the change set that this one takes back. */
  readonly reverts?: number | undefined;
}

/** Of what muster does by itself. Requests come from an address, so nobody else's has this client. */
export const ownOrigin = (command: string): Origin => ({ user: 'muster', client: 'local', command, run: randomUUID() });

const asking = new AsyncLocalStorage<Origin>();

/** Gives what does work for somebody; what is written on the way, however deep below, is written in their name. */
export const onBehalfOf = (origin: Origin): ReturnType<typeof AsyncLocalStorage.snapshot> =>
  asking.run(origin, () => AsyncLocalStorage.snapshot());

/** Whoever the work under way is done for, or muster itself. */
export const originOfWork = (command: string): Origin => asking.getStore() ?? ownOrigin(command);

export function changesByTable(changes: readonly RowChange[]): Map<string, Map<string, Row | undefined>> {
  const grouped = new Map<string, Map<string, Row | undefined>>();
  for (const { table, key, after } of changes) {
    let rows = grouped.get(table);
    if (!rows) grouped.set(table, (rows = new Map()));
    rows.set(key, after);
  }
  return grouped;
}

/** True if only volatile columns of rows that stay change: such changes have no journal entry and no revision. */
export function isVolatile(changes: JournalChanges): boolean {
  return Object.entries(changes).every(([table, rows]) => {
    const { volatile } = tableNamed(table);
    return rows.every(
      ([, before, after]) => before && after && Object.keys(after).every((column) => volatile.has(column)),
    );
  });
}

/** The changes that take back the given ones. */
export const revert = (changes: readonly RowChange[]): RowChange[] =>
  changes.map(({ table, key, before, after }) => ({ table, key, before: after, after: before })).reverse();

/** Columns as the journal keeps them: of a changed row only what changed, null for unset. Volatile ones have no `before`: nobody reverts them. */
export type JournalColumns = Readonly<Record<string, string | null>>;
export type JournalRow = readonly [key: string, before: JournalColumns | null, after: JournalColumns | null];
/** The journal's form of a change set, also what the database is written from. */
export type JournalChanges = Readonly<Record<string, readonly JournalRow[]>>;

export function encodeChanges(changes: readonly RowChange[]): JournalChanges {
  const encoded: Record<string, JournalRow[]> = {};
  for (const { table, key, before, after } of changes)
    (encoded[table] ??= []).push(encodeRow(key, before, after, tableNamed(table).volatile));
  return encoded;
}

export function rowCount(changes: JournalChanges): number {
  let count = 0;
  for (const table in changes) count += changes[table]!.length;
  return count;
}

/** Volatile changes by what the columns become: thousands of rows get the same, such as a status and its time. */
export type VolatileChanges = Readonly<Record<string, readonly (readonly [after: JournalColumns, keys: string[]])[]>>;

export function groupVolatile(changes: JournalChanges): VolatileChanges {
  const grouped: Record<string, [JournalColumns, string[]][]> = {};
  for (const table in changes) {
    const groups = new Map<string, [JournalColumns, string[]]>();
    for (const [key, , after] of changes[table]!) {
      let values = '';
      for (const column in after) values += `${column}${after[column] === null ? '' : '='}${after[column]}\0`;
      const group = groups.get(values);
      if (group) group[1].push(key);
      else groups.set(values, [after!, [key]]);
    }
    grouped[table] = [...groups.values()];
  }
  return grouped;
}

export function ungroupVolatile(grouped: VolatileChanges): JournalChanges {
  const changes: Record<string, JournalRow[]> = {};
  for (const table in grouped)
    changes[table] = grouped[table]!.flatMap(([after, keys]) => keys.map((key): JournalRow => [key, {}, after]));
  return changes;
}

/** Of a part, about. A part is made, and read, in one go. */
const charactersPerPart = 1_000_000;
const charactersPerValue = 16;

/** One part as a rule; a change set too large for one text is kept in several. */
export const splitChanges = (changes: JournalChanges): Iterable<JournalChanges> =>
  isOnePart(changes) ? [changes] : partsOf(changes);

function isOnePart(changes: JournalChanges): boolean {
  let left = charactersPerPart;
  for (const table in changes) left = fittingRows(changes[table]!, 0, left).left;
  return left > 0 && left < charactersPerPart;
}

function* partsOf(changes: JournalChanges): Generator<JournalChanges, void, void> {
  let part: Record<string, readonly JournalRow[]> = {};
  let left = charactersPerPart;
  for (const table in changes) {
    const rows = changes[table]!;
    for (let from = 0; from < rows.length; ) {
      const fitting = fittingRows(rows, from, left);
      part[table] = fitting.until - from === rows.length ? rows : rows.slice(from, fitting.until);
      ({ left, until: from } = fitting);
      if (left > 0) continue;
      yield part;
      part = {};
      left = charactersPerPart;
    }
  }
  if (left < charactersPerPart) yield part;
}

/** The rows from one on that fit into the budget, and one that exceeds it. */
function fittingRows(rows: readonly JournalRow[], from: number, budget: number): { until: number; left: number } {
  let until = from;
  let left = budget;
  for (; until < rows.length && left > 0; until++) {
    const [, before, after] = rows[until]!;
    left -= charactersOf(before) + charactersOf(after);
  }
  return { until, left };
}

function charactersOf(columns: JournalColumns | null): number {
  let characters = charactersPerValue;
  for (const column in columns) characters += charactersPerValue + (columns[column]?.length ?? 0);
  return characters;
}

export function joinChanges(parts: readonly JournalChanges[]): JournalChanges {
  if (parts.length === 1) return parts[0]!;
  const joined: Record<string, JournalRow[]> = {};
  for (const part of parts) {
    for (const table in part) for (const row of part[table]!) (joined[table] ??= []).push(row);
  }
  return joined;
}

function encodeRow(
  key: string,
  before: Row | undefined,
  after: Row | undefined,
  volatile: ReadonlySet<string>,
): JournalRow {
  if (!before || !after) return [key, before ?? null, after ?? null];
  const was: Record<string, string | null> = {};
  const is: Record<string, string | null> = {};
  for (const column in after) {
    if (before[column] !== after[column]) {
      if (!volatile.has(column)) was[column] = before[column] ?? null;
      is[column] = after[column]!;
    }
  }
  for (const column in before) {
    if (after[column] === undefined) {
      if (!volatile.has(column)) was[column] = before[column]!;
      is[column] = null;
    }
  }
  return [key, was, is];
}

/** The row changes of a change set, given the rows it is applied to. What was observed of a row that is gone by now is left out. */
export function decodeChanges(
  encoded: JournalChanges,
  rowBefore: (table: string, key: string) => Row | undefined,
): RowChange[] {
  const changes: RowChange[] = [];
  for (const [table, rows] of Object.entries(encoded)) {
    for (const [key, was, columns] of rows) {
      const before = rowBefore(table, key);
      if (was && !before) continue;
      changes.push({ table, key, before, after: columns === null ? undefined : overlay(before, columns) });
    }
  }
  return changes;
}

/** A row with other values in some columns. */
export function overlay(before: Row | undefined, columns: JournalColumns): Row {
  const row: Record<string, string> = { ...before };
  for (const column in columns) {
    const value = columns[column]!;
    if (value === null) delete row[column];
    else row[column] = value;
  }
  return row;
}
