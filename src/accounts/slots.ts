import { Fault } from '../core/errors.ts';

/** Checks that may wait for each one that is under way. */
const waitingForEach = 4;

/** Bounds how many checks are under way, and how many wait for that: behind a slow source nobody waits for long. */
export class Slots {
  readonly #width: number;
  readonly #waiting: (() => void)[] = [];
  #busy = 0;

  constructor(width: number) {
    this.#width = width;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#busy < this.#width) this.#busy++;
    else {
      if (this.#waiting.length >= this.#width * waitingForEach)
        throw new Fault('unavailable', 'Too many passwords are being checked; try again in a moment.', {
          retryAfter: 5,
        });
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#busy--;
    }
  }
}
