const firstSize = 64 * 1024;

/** Bytes that come in pieces. Most come in one; kept apart, a million pieces of one byte would take a hundred times their size. */
export class Received {
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (this.#length === 0) this.#bytes = piece;
    else {
      if (length > this.#bytes.length) this.#grow(Math.max(firstSize, 2 * length));
      piece.copy(this.#bytes, this.#length);
    }
    this.#length = length;
  }

  /** All of them. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
    return bytes;
  }

  #grow(size: number): void {
    const larger = Buffer.allocUnsafe(size);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
