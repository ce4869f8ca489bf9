/** Reads a packet from the front. Past its end every read gives `undefined`, and so does every one after it. */
export class Reader {
  readonly #bytes: Buffer;
  #at = 0;
  #ended = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  number(width: 1 | 2 | 3 | 4): number | undefined {
    const from = this.#take(width);
    return from === undefined ? undefined : this.#bytes.readUIntBE(from, width);
  }

  /** Text behind its length in two bytes. */
  text(): string | undefined {
    const length = this.number(2);
    const from = length === undefined ? undefined : this.#take(length);
    return from === undefined ? undefined : this.#bytes.toString('utf8', from, from + length!);
  }

  skip(length: number): boolean {
    return this.#take(length) !== undefined;
  }

  #take(length: number): number | undefined {
    const from = this.#at;
    if (this.#ended || length > this.#bytes.length - from) {
      this.#ended = true;
      return undefined;
    }
    this.#at += length;
    return from;
  }
}
