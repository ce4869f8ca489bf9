/** Milliseconds that may pass until others get their turn. */
const slice = 10;

/** Does pieces of work one after the other, a few milliseconds of them in each turn of the event loop. */
export class Slices {
  #waiting: (() => void)[] = [];

  add(work: () => void): void {
    this.#waiting.push(work);
    if (this.#waiting.length === 1) setImmediate(() => this.#work());
  }

  #work(): void {
    const until = performance.now() + slice;
    let done = 0;
    while (done < this.#waiting.length && performance.now() < until) this.#waiting[done++]!();
    this.#waiting = this.#waiting.slice(done);
    if (this.#waiting.length > 0) setImmediate(() => this.#work());
  }
}
