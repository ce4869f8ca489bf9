import { Fault } from '../core/errors.ts';
import { inSlices, type Sliced } from '../core/slices.ts';
import { type JournalChanges, type JournalColumns, type JournalRow, overlay } from './changeset.ts';
import { type Database, JournalGap } from './database.ts';
import type { Snapshot } from './snapshot.ts';
import { type Row, snapshotTables } from './tables.ts';

/** Earlier states that are kept for whoever asks again or for one near by. */
const keptStates = 4;
/** Milliseconds without anybody asking after which they are forgotten. */
const keptFor = 60_000;

/** What a row was, as far as the entries read so far tell: all of it, that there was none, or what some of its columns were. */
type Earlier = { readonly row: Row | undefined } | { readonly columns: Record<string, string | null> };
type Undone = Map<string, Map<string, Earlier>>;

/**
 * The database as it was: what the journal tells since is taken back from a later state. Volatile columns are not in the journal, so the past has
 * none.
 */
export class Past {
  readonly #database: Database;
  readonly #states = new Map<number, Promise<Snapshot>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The state after that revision; `current` is where to begin. */
  at(current: Snapshot, revision: number): Promise<Snapshot> {
    const known = this.#states.get(revision);
    const state = known ?? this.#from(current, revision);
    this.#states.delete(revision);
    this.#states.set(revision, state);
    if (!known) state.catch(() => this.#states.delete(revision));
    for (const oldest of this.#states.keys()) if (this.#states.size > keptStates) this.#states.delete(oldest);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#states.clear(), keptFor).unref();
    return state;
  }

  async #from(current: Snapshot, revision: number): Promise<Snapshot> {
    const later = [...this.#states.keys()].filter((kept) => kept > revision).sort((a, b) => a - b)[0];
    const base = later === undefined ? current : await this.#states.get(later)!;
    const undone: Undone = new Map();
    try {
      for await (const sets of this.#database.readChanges(revision, base.revision))
        await inSlices(undoAll(undone, sets));
    } catch (error) {
      throw error instanceof JournalGap ? await this.#tooOld(revision) : error;
    }
    return inSlices(earlierState(base, undone, revision));
  }

  async #tooOld(revision: number): Promise<Fault> {
    const oldest = await this.#database.oldestEntry();
    return beyondJournal(`revision ${revision}`, oldest);
  }
}

/** How far back one can go. */
export function beyondJournal(wanted: string, oldest: { revision: number; time: number } | undefined): Fault {
  const reach = oldest
    ? `it goes back to revision ${oldest.revision - 1}, before the change of ${new Date(oldest.time).toISOString()}`
    : 'it is empty';
  return new Fault(
    'unknown-object',
    `The journal does not know ${wanted}: ${reach}. Older entries are dropped after the days that the site attribute journalretention says.`,
  );
}

function* undoAll(undone: Undone, sets: readonly JournalChanges[]): Sliced<void> {
  for (const changes of sets) {
    for (const table in changes) {
      let rows = undone.get(table);
      if (!rows) undone.set(table, (rows = new Map()));
      const list = changes[table]!;
      for (let from = 0; from < list.length; from += rowsPerStep) {
        undo(rows, list, from);
        if (list.length > rowsPerStep) yield;
      }
    }
    yield;
  }
}

const rowsPerStep = 500;

/** Entries come the oldest first, so what a row was is what the first one says that touches it. */
function undo(rows: Map<string, Earlier>, list: readonly JournalRow[], from: number): void {
  for (let at = from; at < Math.min(from + rowsPerStep, list.length); at++) {
    const [key, before, after] = list[at]!;
    const known = rows.get(key);
    if (known === undefined) rows.set(key, earlierOf(before, after));
    else if ('columns' in known) {
      if (after === null) rows.set(key, { row: overlay(before as Row, known.columns) });
      else
        for (const column in before) if (known.columns[column] === undefined) known.columns[column] = before[column]!;
    }
  }
}

function earlierOf(before: JournalColumns | null, after: JournalColumns | null): Earlier {
  if (before === null) return { row: undefined };
  return after === null ? { row: before as Row } : { columns: { ...before } };
}

function* earlierState(base: Snapshot, undone: Undone, revision: number): Sliced<Snapshot> {
  const changed = new Map<string, Map<string, Row | undefined>>();
  for (const { name, volatile } of snapshotTables) {
    const rows = new Map<string, Row | undefined>();
    let count = 0;
    // Of a row that is there now all is known but its volatile columns.
    for (const [key, row] of volatile.size > 0 ? base.rows(name).entries() : []) {
      if (hasAny(row, volatile)) rows.set(key, without(row, volatile));
      if (++count % rowsPerStep === 0) yield;
    }
    for (const [key, earlier] of undone.get(name) ?? []) {
      if ('columns' in earlier) {
        const now = rows.get(key) ?? base.get(name, key);
        if (now) rows.set(key, overlay(now, earlier.columns));
      } else rows.set(key, earlier.row && hasAny(earlier.row, volatile) ? without(earlier.row, volatile) : earlier.row);
      if (++count % rowsPerStep === 0) yield;
    }
    if (rows.size > 0) changed.set(name, rows);
  }
  yield;
  return base.earlier(changed, revision);
}

function hasAny(row: Row, columns: ReadonlySet<string>): boolean {
  for (const column of columns) if (row[column] !== undefined) return true;
  return false;
}

/** A row without some of its columns. */
export function without(row: Row, columns: ReadonlySet<string>): Row {
  const rest: Record<string, string> = { ...row };
  for (const column of columns) delete rest[column];
  return rest;
}
