import { Fault } from '../core/errors.ts';
import { inSlices, type Interruptible } from '../core/slices.ts';
import { type JournalChanges, type JournalColumns, type JournalRow, overlay } from './changeset.ts';
import { type Database, JournalGap } from './database.ts';
import type { Snapshot } from './snapshot.ts';
import { type Row, snapshotTables } from './tables.ts';

/** States that are kept to begin from, with as much between them as can be. */
const keptStates = 64;
/** Revisions that are at least between them: so many are taken back in a few milliseconds. */
const leastBetween = 512;
/** States that were asked for last, for whoever asks again. */
const askedStates = 4;

/** What a row was, as far as the entries read so far show: all of it, that there was none, or what some of its columns were. */
type Earlier = { readonly row: Row | undefined } | { readonly columns: Record<string, string | null> };
type Undone = Map<string, Map<string, Earlier>>;

/**
 * The database as it was: what the journal records since is taken back from a later state. Volatile columns are not in the journal, so the past
 * has none. Some states on the way are kept, which costs little as they share most of their rows, so that there is never far to go.
 */
export class Past {
  readonly #database: Database;
  /** The oldest first. */
  #kept: Snapshot[] = [];
  readonly #asked = new Map<number, Promise<Snapshot>>();
  /** One goes back at a time: it takes memory, and the next may have less far to go. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(database: Database, current: Snapshot) {
    this.#database = database;
    this.#kept.push(current);
  }

  /** Every state that becomes current goes through here. */
  note(current: Snapshot): void {
    if (current.revision - this.#kept.at(-1)!.revision >= leastBetween) this.#keep(current);
  }

  /** The state after that revision; `current` is where to begin. */
  at(current: Snapshot, revision: number): Promise<Snapshot> {
    let state = this.#asked.get(revision);
    this.#asked.delete(revision);
    if (!state) {
      const made = this.#turn.then(() => this.#from(current, revision));
      state = made;
      this.#turn = made.catch(() => this.#asked.get(revision) === made && this.#asked.delete(revision));
    }
    this.#asked.set(revision, state);
    for (const oldest of this.#asked.keys()) if (this.#asked.size > askedStates) this.#asked.delete(oldest);
    return state;
  }

  async #from(current: Snapshot, revision: number): Promise<Snapshot> {
    const oldest = await this.#database.oldestEntry();
    if (revision < current.revision && (!oldest || oldest.revision > revision + 1))
      throw beyondJournal(`revision ${revision}`, oldest);
    const base = this.#kept.find((kept) => kept.revision >= revision && kept.revision <= current.revision) ?? current;
    const step = Math.max(leastBetween, Math.ceil((base.revision - revision) / keptStates));
    let state = base;
    do {
      state = await this.#back(state, Math.max(revision, state.revision - step), oldest);
      if (state.revision > revision) this.#keep(state);
    } while (state.revision > revision);
    return state;
  }

  async #back(base: Snapshot, revision: number, oldest: Reach): Promise<Snapshot> {
    const undone: Undone = new Map();
    try {
      for await (const sets of this.#database.readChanges(revision, base.revision))
        await inSlices(undoAll(undone, sets));
    } catch (error) {
      throw error instanceof JournalGap ? beyondJournal(`revision ${revision}`, oldest) : error;
    }
    return inSlices(earlierState(base, undone, revision));
  }

  /** Where there are too many, the one goes that has the least between its neighbours. */
  #keep(state: Snapshot): void {
    const kept = [...this.#kept, state].sort((a, b) => a.revision - b.revision);
    const between = (i: number): number => kept[i + 1]!.revision - kept[i - 1]!.revision;
    if (kept.length > keptStates) {
      let least = 1;
      for (let i = 2; i < kept.length - 1; i++) if (between(i) < between(least)) least = i;
      kept.splice(least, 1);
    }
    this.#kept = kept;
  }
}

type Reach = { readonly revision: number; readonly time: number } | undefined;

/** How far back one can go. */
export function beyondJournal(wanted: string, oldest: Reach): Fault {
  const reach = oldest
    ? `it goes back to revision ${oldest.revision - 1}, before the change of ${new Date(oldest.time).toISOString()}`
    : 'it is empty';
  return new Fault(
    'unknown-object',
    `The journal does not know ${wanted}: ${reach}. Older entries are dropped after the days that the site attribute journalretention says.`,
  );
}

function* undoAll(undone: Undone, sets: readonly JournalChanges[]): Interruptible<void> {
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
  // They were read for this alone, so what else is found is added to them.
  return after === null ? { row: before as Row } : { columns: before };
}

function* earlierState(base: Snapshot, undone: Undone, revision: number): Interruptible<Snapshot> {
  const changed = new Map<string, Map<string, Row | undefined>>();
  for (const { name, volatile } of snapshotTables) {
    const rows = new Map<string, Row | undefined>();
    let count = 0;
    // Of a row that is there now all is known but its volatile columns.
    for (const [key, row] of volatile.size > 0 && !base.isPast ? base.rows(name).entries() : []) {
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
