import { Fault } from '../core/errors.ts';

/** Bounds how many requests of one user run at a time. */
export class Concurrency {
  readonly #limit: number;
  readonly #running = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Returns what to call when the request is done. */
  enter(user: string): () => void {
    const running = this.#running.get(user) ?? 0;
    if (running >= this.#limit) {
      throw new Fault(
        'unavailable',
        `User "${user}" already has ${running} requests running; try again when some are done.`,
        { retryAfter: 1 },
      );
    }
    this.#running.set(user, running + 1);
    return () => {
      const left = (this.#running.get(user) ?? 1) - 1;
      if (left === 0) this.#running.delete(user);
      else this.#running.set(user, left);
    };
  }
}
