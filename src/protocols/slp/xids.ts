import { randomInt } from 'node:crypto';

const count = 0x10000;

/** Transaction numbers, none in use twice. They begin at random, so that a stranger cannot answer unseen questions. */
export class Xids {
  readonly #used = new Set<number>([0]);
  #next = randomInt(1, count);

  /** Undefined: all are in use. */
  take(): number | undefined {
    if (this.#used.size >= count) return undefined;
    while (this.#used.has(this.#next)) this.#next = (this.#next + 1) % count;
    this.#used.add(this.#next);
    return this.#next;
  }

  giveBack(xid: number): void {
    this.#used.delete(xid);
    // A late answer must not meet the next question.
    if (this.#next === xid) this.#next = (xid + 1) % count;
  }
}
