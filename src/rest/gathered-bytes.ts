/** Bytes that come in pieces, however small, in one place. */
export class GatheredBytes {
  #room: Buffer = Buffer.alloc(0);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Good until `clear`. */
  get bytes(): Buffer {
    return this.#room.subarray(0, this.#size);
  }

  add(piece: Buffer): void {
    const size = this.#size + piece.length;
    if (size > this.#room.length) {
      // Twice as much as before, so that many small pieces are not copied over and over.
      const larger = Buffer.allocUnsafe(Math.max(size, 2 * this.#room.length));
      this.#room.copy(larger, 0, 0, this.#size);
      this.#room = larger;
    }
    piece.copy(this.#room, this.#size);
    this.#size = size;
  }

  clear(): void {
    this.#size = 0;
  }
}
