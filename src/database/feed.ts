import { rowCount } from './changeset.ts';
import type { ChangeSet, Database } from './database.ts';
import type { Reloaded } from './reload.ts';
import type { Snapshot } from './snapshot.ts';

/** What a follower gets when what it asked for is no longer known: where things stand. */
export interface Reload {
  readonly snapshot: Snapshot;
}

/** `sets` lead from the state before to this one; undefined: what does is not known but for what was skipped (see reload.ts). */
export type Listener = (
  current: Snapshot,
  sets: readonly ChangeSet[] | undefined,
  skipped: Reloaded['skipped'],
) => void;

/** Rows of the latest change sets that are kept in memory while somebody follows. */
const maximumTail = 10_000;

/** The state that readers see, and all who want to hear when it has become another. */
export class Feed {
  readonly #database: Database;
  readonly #listeners = new Set<Listener>();
  /** The latest change sets. */
  #tail: ChangeSet[] = [];
  #tailRows = 0;
  #followers = 0;
  #current: Snapshot;

  constructor(database: Database, current: Snapshot) {
    this.#database = database;
    this.#current = current;
  }

  get current(): Snapshot {
    return this.#current;
  }

  /** `sets` lead there from what was current; undefined: what does is not known but for what was skipped. */
  publish(current: Snapshot, sets: readonly ChangeSet[] | undefined, skipped?: Reloaded['skipped']): void {
    if (current === this.#current) return;
    this.#current = current;
    if (sets && this.#followers > 0) this.#keep(sets);
    else this.#forget();
    for (const listener of this.#listeners) listener(current, sets, skipped);
  }

  /** Calls the listener with every state that is published from now on. Returns what ends that. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Waits until there is a newer state, or the signal says that it is enough. */
  next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const done = (): void => {
        unsubscribe();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const unsubscribe = this.subscribe(done);
      signal.addEventListener('abort', done);
    });
  }

  /**
   * All change sets after that sequence, in order, until the signal says that it is enough. None is passed on before it is published. The phases
   * of following:
   * - backfill: what came before is read from the journal and the volatile changes that the database still has;
   * - cut over: as soon as the tail, the latest change sets in memory, holds the next one;
   * - live: from the tail, as soon as they are published. It is everybody's, so that a slow follower takes no memory;
   * - too slow: the tail no longer holds the next one, and it is read from the database as in the beginning;
   * - reload: neither has the database it, and the follower gets the current snapshot instead of what led to it.
   */
  async *follow(from: number, signal: AbortSignal): AsyncGenerator<ChangeSet | Reload, void, undefined> {
    let at = from;
    this.#followers++;
    try {
      while (!signal.aborted) {
        const seen = this.#current;
        const sets = at === seen.sequence ? [] : (this.#after(at) ?? (await this.#database.changesAfter(at, 'read')));
        const published = sets?.filter(({ sequence }) => sequence <= seen.sequence);
        if (!published) {
          at = seen.sequence;
          yield { snapshot: seen };
        } else if (published.length === 0 && this.#current === seen) await this.next(signal);
        for (const set of published ?? []) {
          if (signal.aborted) return;
          at = set.sequence;
          yield set;
        }
      }
    } finally {
      if (--this.#followers === 0) this.#forget();
    }
  }

  /** What the tail has after the sequence; undefined if it does not hold all of that. */
  #after(sequence: number): readonly ChangeSet[] | undefined {
    const first = this.#tail[0]?.sequence;
    return first === undefined || first > sequence + 1 ? undefined : this.#tail.slice(sequence + 1 - first);
  }

  #keep(sets: readonly ChangeSet[]): void {
    for (const set of sets) {
      this.#tail.push(set);
      this.#tailRows += rowCount(set.changes);
    }
    while (this.#tailRows > maximumTail && this.#tail.length > 1)
      this.#tailRows -= rowCount(this.#tail.shift()!.changes);
  }

  #forget(): void {
    this.#tail = [];
    this.#tailRows = 0;
  }
}
