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
    // Users are accounts, so there are few: their entries stay.
    return () => this.#running.set(user, this.#running.get(user)! - 1);
  }
}
