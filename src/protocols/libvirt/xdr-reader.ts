import { garbled } from './faults.ts';
import { longestString } from './limits.ts';

const word = 4;
const doubleWord = 8;
/** As this many bytes, without a length before them. */
export const uuidLength = 16;

/** Reads XDR (RFC 4506) from the front: whole numbers of big-endian 32-bit words. What is not there is a LibvirtFault. */
export class XdrReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  int(): number {
    return this.#bytes.readInt32BE(this.#take(word));
  }

  uint(): number {
    return this.#bytes.readUInt32BE(this.#take(word));
  }

  hyper(): bigint {
    return this.#bytes.readBigInt64BE(this.#take(doubleWord));
  }

  uhyper(): bigint {
    return this.#bytes.readBigUInt64BE(this.#take(doubleWord));
  }

  double(): number {
    return this.#bytes.readDoubleBE(this.#take(doubleWord));
  }

  bool(): boolean {
    const value = this.uint();
    if (value > 1) throw garbled(`${value} where yes or no belongs`);
    return value === 1;
  }

  string(): string {
    const length = this.uint();
    if (length > longestString) throw garbled(`a string of ${length} bytes`);
    const from = this.#take(Math.ceil(length / word) * word);
    return this.#bytes.toString('utf8', from, from + length);
  }

  /** A copy: what a message held longer than it is read would hold all of the message. */
  uuid(): Buffer {
    const from = this.#take(uuidLength);
    return Buffer.from(this.#bytes.subarray(from, from + uuidLength));
  }

  /** Bytes with their number before them; a copy too. */
  data(most: number): Buffer {
    const length = this.uint();
    if (length > most) throw garbled(`${length} bytes of data`);
    const from = this.#take(Math.ceil(length / word) * word);
    return Buffer.from(this.#bytes.subarray(from, from + length));
  }

  optional<T>(read: () => T): T | undefined {
    return this.bool() ? read() : undefined;
  }

  /** Every item takes at least one word, so that no count makes room for more than has come. */
  list<T>(most: number, read: () => T): T[] {
    const count = this.uint();
    if (count > most || count * word > this.left) throw garbled(`a list of ${count}`);
    return Array.from({ length: count }, read);
  }

  #take(length: number): number {
    if (length > this.left) throw garbled('it ends too early');
    const from = this.#at;
    this.#at += length;
    return from;
  }
}
