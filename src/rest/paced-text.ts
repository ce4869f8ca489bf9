import { setImmediate } from 'node:timers/promises';

/** How long, in milliseconds, a serialisation may hold the event loop. */
export const slice = 3;

/** Characters of a piece that takes time by itself. */
const long = 16_384;

/** A short body is one text, a long one comes in pieces. */
export type Body = string | Buffer[];

export const bodyText = (body: Body): string => (typeof body === 'string' ? body : Buffer.concat(body).toString());

/** Gathers a long text piece by piece, and lets others work in between. */
export class PacedText {
  readonly #pieces: Buffer[] = [];
  #part = '';
  #count = 0;
  #began = performance.now();

  /** What it returns must be awaited; most of the time that is nothing. */
  add(text: string): Promise<void> | undefined {
    this.#part += text;
    // The clock costs as much as a small piece, so it is not read for each; the output of a node may be a large one.
    if ((++this.#count & 15) !== 0 && text.length < long) return undefined;
    if (performance.now() - this.#began <= slice) return undefined;
    return this.#pause();
  }

  /** All of it, with a last piece. */
  end(text: string): Body {
    const rest = this.#part + text;
    if (this.#pieces.length === 0) return rest;
    this.#pieces.push(Buffer.from(rest));
    return this.#pieces;
  }

  async #pause(): Promise<void> {
    this.#pieces.push(Buffer.from(this.#part));
    this.#part = '';
    await setImmediate();
    this.#began = performance.now();
  }
}
