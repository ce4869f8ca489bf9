const newline = 0x0a;

/** The last bytes of a stream, from the beginning of a line. It takes no more memory than it has to. */
export class Tail {
  readonly #most: number;
  #buffer = Buffer.alloc(0);
  #size = 0;

  /** It has at least half as many bytes as `most`, if there were so many, and never more. */
  constructor(most: number) {
    this.#most = most;
  }

  get bytes(): Buffer {
    return Buffer.from(this.#buffer.subarray(0, this.#size));
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  add(bytes: Uint8Array): void {
    const added = bytes.subarray(Math.max(0, bytes.length - this.#most / 2));
    if (this.#size + added.length > this.#most) this.#forget(this.#most / 2);
    if (this.#size + added.length > this.#buffer.length) this.#grow(this.#size + added.length);
    this.#buffer.set(added, this.#size);
    this.#size += added.length;
  }

  #forget(left: number): void {
    const cut = this.#buffer.subarray(Math.max(0, this.#size - left), this.#size);
    const line = cut.indexOf(newline) + 1;
    this.#size = cut.length - line;
    this.#buffer.set(cut.subarray(line), 0);
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.min(this.#most, Math.max(1_024, 2 * needed)));
    this.#buffer.copy(larger, 0, 0, this.#size);
    this.#buffer = larger;
  }
}
