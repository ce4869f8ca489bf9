/** Of a reply that need not be asked for: most are smaller by far. */
const usualSize = 256 * 1024;

/** Memory for replies that are being received and are larger than usual, for all services together. */
export class ReplyMemory {
  readonly #size: number;
  #held = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** What a reply that has grown holds now, given what it held before; undefined if there is no room. */
  grow(received: number, before: number): number | undefined {
    const held = Math.max(0, received - usualSize);
    if (this.#held + held - before > this.#size) return undefined;
    this.#held += held - before;
    return held;
  }

  release(held: number): void {
    this.#held -= held;
  }
}
