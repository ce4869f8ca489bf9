/** Milliseconds that may pass until others get their turn. */
const slice = 10;

/** Does pieces of work one after the other, a few milliseconds of them in each turn of the event loop. */
export class Slices {
  #waiting: (() => void)[] = [];

  add(work: () => void): void {
    this.#waiting.push(work);
    if (this.#waiting.length === 1) setImmediate(() => this.#work());
  }

  /** The same for work that somebody waits for. */
  run<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.add(() => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  #work(): void {
    const until = performance.now() + slice;
    let done = 0;
    while (done < this.#waiting.length && performance.now() < until) this.#waiting[done++]!();
    this.#waiting = this.#waiting.slice(done);
    if (this.#waiting.length > 0) setImmediate(() => this.#work());
  }
}

/** Long work of requests, however many there are: all of it together takes a few milliseconds of each turn. */
export const requestSlices = new Slices();

/** Work that may take long: it yields where it can be interrupted. */
export type Interruptible<T> = Generator<void, T, void>;

/** Milliseconds for which work goes on before others get their turn: most has ended by then. */
const firstSlice = 2;

/** Steps that are taken without a look at the clock: most work has few, and has ended by then. */
const firstSteps = 3;

/**
 * Does work that may take long; what has not ended soon goes on in slices, so that others get their turn in between. It fails when
 * `isInVain` says after such a turn that nobody wants its result any more.
 */
export function inSlices<T>(work: Interruptible<T>, isInVain?: () => boolean): T | Promise<T> {
  for (let taken = 0; taken < firstSteps; taken++) {
    const next = work.next();
    if (next.done) return next.value;
  }
  const step = (): IteratorReturnResult<T> | undefined => {
    const until = performance.now() + firstSlice;
    for (;;) {
      const next = work.next();
      if (next.done) return next;
      if (performance.now() >= until) return undefined;
    }
  };
  const ended = step();
  return ended ? ended.value : goOn(step, isInVain);
}

async function goOn<T>(step: () => IteratorReturnResult<T> | undefined, isInVain?: () => boolean): Promise<T> {
  for (;;) {
    if (isInVain?.()) throw new Error('it is no longer needed');
    const ended = await requestSlices.run(step);
    if (ended) return ended.value;
  }
}

/** Milliseconds after which work on many things yields: to do so after each would often cost more than the work. */
const pieceTime = 0.5;

/** Things that are done between two looks at the clock, which costs as much as small ones do; fewer where they take long. */
const mostUnwatched = 16;

/** Does something with each of many. Where there is but one, as in most requests, there is nothing to yield for. */
export function eachInSlices<T>(items: Iterable<T>, work: (item: T) => void): Iterable<void> {
  const list = Array.isArray(items) ? (items as readonly T[]) : [...items];
  if (list.length > 1) return piecesOf(list, work);
  for (const item of list) work(item);
  return [];
}

function* piecesOf<T>(list: readonly T[], work: (item: T) => void): Iterable<void> {
  for (let from = 0; (from = workOnPiece(list, from, work)) < list.length; ) yield;
}

/** Returns where to go on. A plain function, since the engine makes loops in generators less fast. */
function workOnPiece<T>(list: readonly T[], from: number, work: (item: T) => void): number {
  let looked = performance.now();
  const until = looked + pieceTime;
  let unwatched = 1;
  for (let at = from; ; ) {
    for (const end = Math.min(at + unwatched, list.length); at < end; at++) work(list[at]!);
    if (at === list.length) return at;
    const now = performance.now();
    if (now >= until) return at;
    unwatched = now - looked < pieceTime / 4 ? Math.min(2 * unwatched, mostUnwatched) : 1;
    looked = now;
  }
}

/** Does work that yields where nobody can wait for it. */
export function atOnce<T>(work: Interruptible<T>): T {
  for (;;) {
    const next = work.next();
    if (next.done) return next.value;
  }
}

/** What `make` makes of each item; others get their turn in between. */
export async function mapInSlices<T, R>(items: readonly T[], make: (item: T) => R): Promise<R[]> {
  return inSlices(
    (function* () {
      const made: R[] = [];
      yield* eachInSlices(items, (item) => made.push(make(item)));
      return made;
    })(),
  );
}
