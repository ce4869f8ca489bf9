/** Of a reply that need not be asked for: most are smaller by far. */
const usualSize = 256 * 1024;

/** Memory for replies that are being received and are larger than usual, for all services together. */
export class ReplyMemory {
  readonly #size: number;
  #reserved = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** What a reply that has grown reserves now, given what it had before; undefined if there is no room. */
  grow(received: number, before: number): number | undefined {
    const reserved = Math.max(0, received - usualSize);
    if (this.#reserved + reserved - before > this.#size) return undefined;
    this.#reserved += reserved - before;
    return reserved;
  }

  release(reserved: number): void {
    this.#reserved -= reserved;
  }
}
