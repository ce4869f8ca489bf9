import { inSlices, type Interruptible } from '../core/slices.ts';
import { encodeChanges, isVolatile } from './changeset.ts';
import { applied, type Pending, placeAfter } from './pending.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * Change sets that wait: first to be computed, one after another on `head`, then to be written. A long one is computed in slices, and those
 * behind it wait. If what they were computed on is no longer what they will be written on, they are computed again.
 */
export class ChangeLine {
  readonly #computed: () => void;
  #head: Snapshot;
  /** To be computed. The first is under way, if any is. */
  #uncomputed: Pending[] = [];
  #computing: Promise<void> | undefined;
  /** Counts how often what waits had to be computed again. */
  #attempt = 0;
  /** To be written. */
  #queue: Pending[] = [];

  /** `computed` hears of each that is to be written. */
  constructor(head: Snapshot, computed: () => void) {
    this.#head = head;
    this.#computed = computed;
  }

  /** What the next is computed from: the database with all that is to be written. */
  get head(): Snapshot {
    return this.#head;
  }

  /** How many wait. */
  get length(): number {
    return this.#uncomputed.length + this.#queue.length;
  }

  /** How many of them are computed. */
  get ready(): number {
    return this.#queue.length;
  }

  /** Resolves when the one that takes longer is computed; undefined: none does. */
  get computing(): Promise<void> | undefined {
    return this.#computing;
  }

  add(pending: Pending): void {
    this.#uncomputed.push(pending);
    this.#computeNext();
  }

  /** Those that are computed, to be written. */
  take(): Pending[] {
    const taken = this.#queue;
    this.#queue = [];
    return taken;
  }

  /** Others have only observed something: what is computed stays as it is, on what the database has become. */
  goOn(current: Snapshot): void {
    this.#head = current;
    for (const pending of this.#queue) this.#place(pending, applied(pending, this.#head));
  }

  /** `first` and all that wait, now that the database has become another than they were computed on. */
  computeAgain(current: Snapshot, first: readonly Pending[]): void {
    this.#attempt++;
    this.#head = current;
    this.#uncomputed = [...first, ...this.#queue, ...this.#uncomputed];
    this.#queue = [];
    this.#computeNext();
  }

  /** Computes those that wait for it, until one takes longer. */
  #computeNext(): void {
    while (!this.#computing && this.#uncomputed.length > 0) {
      const attempt = this.#attempt;
      const first = this.#uncomputed[0]!;
      const computed = this.#settled(first, attempt);
      if (computed instanceof Promise) {
        this.#computing = computed.then((settle) => {
          this.#computing = undefined;
          this.#settle(attempt, settle);
          return this.#computeNext();
        });
      } else this.#settle(attempt, computed);
    }
  }

  /** Settles the first of them, unless all that waits has to be computed again. */
  #settle(attempt: number, settle: () => void): void {
    if (this.#attempt !== attempt) return;
    this.#uncomputed.shift();
    settle();
  }

  #settled(pending: Pending, attempt: number): (() => void) | Promise<() => void> {
    const head = this.#head;
    // Observations that came while it was computed leave its changes what they are.
    const accept = (after: Snapshot) => () =>
      this.#accept(pending, this.#head === head ? after : applied(pending, this.#head));
    const refuse = (error: unknown) => () => pending.reject(error);
    try {
      const computed = inSlices(this.#compute(pending, head), () => this.#attempt !== attempt);
      return computed instanceof Promise ? computed.then(accept, refuse) : accept(computed);
    } catch (error) {
      return refuse(error);
    }
  }

  /** The snapshot after it. */
  *#compute(pending: Pending, head: Snapshot): Interruptible<Snapshot> {
    const computed = pending.compute(head);
    const changes = 'next' in computed ? yield* computed : computed;
    pending.changes = encodeChanges(changes);
    yield;
    pending.journalled = !isVolatile(pending.changes);
    return changes.length > 0 ? head.apply(changes, ...placeAfter(pending, head)) : head;
  }

  #accept(pending: Pending, after: Snapshot): void {
    this.#place(pending, after);
    this.#queue.push(pending);
    this.#computed();
  }

  #place(pending: Pending, after: Snapshot): void {
    pending.revision = after.revision;
    if (pending.keepsAfter) pending.after = after;
    this.#head = after;
  }
}
