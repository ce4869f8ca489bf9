import type { Batch } from './messages.ts';

const every = 50;
const mostLines = 100;
const mostCharacters = 16_384;

/**
 * Gathers lines and progress, and sends them a few times a second: whoever gets them has others to serve. Of a program that prints
 * faster than anybody can read, the first lines of each moment and the last one are sent.
 */
export class Outbox {
  readonly #send: (batch: Batch) => void;
  #lines: string[] = [];
  #characters = 0;
  #leftOut = 0;
  #last = '';
  #done = 0;
  #of = 1;
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (batch: Batch) => void) {
    this.#send = send;
  }

  tell(line: string): void {
    if (this.#lines.length < mostLines && this.#characters < mostCharacters) {
      this.#lines.push(line);
      this.#characters += line.length;
    } else {
      this.#leftOut++;
      this.#last = line;
    }
    this.#sendSoon();
  }

  progress(done: number, of: number): void {
    if (!(of > 0) || !(done >= 0) || !Number.isFinite(of)) return;
    this.#done = Math.min(done, of);
    this.#of = of;
    this.#sendSoon();
  }

  flush(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#leftOut > 1) this.#lines.push(`(${this.#leftOut - 1} lines are left out here)`);
    if (this.#leftOut > 0) this.#lines.push(this.#last);
    this.#send({ lines: this.#lines, done: this.#done, of: this.#of });
    this.#lines = [];
    this.#characters = this.#leftOut = 0;
  }

  #sendSoon(): void {
    this.#timer ??= setTimeout(() => this.flush(), every);
  }
}
