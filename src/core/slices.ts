import { setImmediate as nextTurn } from 'node:timers/promises';

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

/** What `make` makes of each item; others get their turn in between. */
export async function mapInSlices<T, R>(items: readonly T[], make: (item: T) => R): Promise<R[]> {
  const made: R[] = [];
  let until = performance.now() + slice;
  for (const item of items) {
    made.push(make(item));
    if (performance.now() < until) continue;
    await nextTurn();
    until = performance.now() + slice;
  }
  return made;
}
