import type { Duplex } from 'node:stream';
import type { Slices } from '../../core/slices.ts';

/**
 * Hands what comes from a stream to who listens for its data, in turn with other streams: many peers that answer at once would hold
 * the event loop for as long as it takes to understand them all.
 */
export class PacedReading {
  readonly #stream: Duplex;
  readonly #slices: Slices;
  #holders = 0;
  #due = false;

  constructor(stream: Duplex, slices: Slices) {
    this.#stream = stream;
    this.#slices = slices;
    // Not before somebody listens, which the library does a moment after it was given the stream.
    setImmediate(() => stream.on('readable', () => this.#readLater()));
  }

  /** Reads nothing until what is returned is called. */
  hold(): () => void {
    this.#holders++;
    return () => {
      if (--this.#holders === 0) this.#readLater();
    };
  }

  #readLater(): void {
    if (this.#due || this.#holders > 0) return;
    this.#due = true;
    this.#slices.add(() => {
      this.#due = false;
      if (this.#holders === 0) this.#stream.read();
    });
  }
}
