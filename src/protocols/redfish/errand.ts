import { Fault } from '../../core/errors.ts';

export interface ErrandLimits {
  /** How long one command may go on asking a service, in milliseconds; the request under way then is still waited for. */
  readonly commandTime: number;
  /** Bytes of all answers to one command. */
  readonly commandSize: number;
}

/** One command on a service, which may be many requests: a service must not be able to make it endless. */
export class Errand {
  readonly #commandSize: number;
  readonly #time: number;
  readonly #began = performance.now();
  #received = 0;

  constructor({ commandTime, commandSize }: ErrandLimits, waiting: number) {
    this.#commandSize = commandSize;
    this.#time = commandTime + waiting;
  }

  checkTime(): void {
    if (performance.now() - this.#began < this.#time) return;
    const seconds = this.#time / 1_000;
    throw new Fault(
      'deadline',
      `its service processor answered, but had not told all there was to ask after ${seconds} s.`,
    );
  }

  received(bytes: number): void {
    this.#received += bytes;
    if (this.#received <= this.#commandSize) return;
    throw new Fault('garbled', `its service processor sent more than ${this.#commandSize} bytes for one command.`);
  }
}
