import { LibvirtFault } from './faults.ts';
import { longestString } from './limits.ts';

const word = 4;

/** Writes XDR (RFC 4506), in the order of the calls. */
export class XdrWriter {
  readonly #pieces: Buffer[] = [];

  int(value: number): this {
    const bytes = Buffer.alloc(word);
    bytes.writeInt32BE(value);
    return this.#add(bytes);
  }

  uint(value: number): this {
    const bytes = Buffer.alloc(word);
    bytes.writeUInt32BE(value);
    return this.#add(bytes);
  }

  uhyper(value: bigint): this {
    const bytes = Buffer.alloc(2 * word);
    bytes.writeBigUInt64BE(value);
    return this.#add(bytes);
  }

  /** Libvirt reads strings as those of C: one with a zero byte would be cut there, so it is refused. */
  string(value: string): this {
    if (value.includes('\0')) throw new LibvirtFault('unfit', 'a text with a zero byte cannot be sent to libvirt.');
    const length = Buffer.byteLength(value);
    if (length > longestString) {
      throw new LibvirtFault(
        'unfit',
        `a text of ${length} bytes is too long for libvirt, which takes ${longestString}.`,
      );
    }
    const bytes = Buffer.alloc(Math.ceil(length / word) * word);
    bytes.write(value);
    return this.uint(length).#add(bytes);
  }

  /** Bytes of a known number, which has to be that of whole words. */
  opaque(bytes: Buffer): this {
    return this.#add(bytes);
  }

  /** Bytes of any number, which is told before them. */
  data(bytes: Buffer): this {
    const padding = Buffer.alloc((word - (bytes.length % word)) % word);
    return this.uint(bytes.length).#add(bytes).#add(padding);
  }

  optional<T>(value: T | undefined, write: (value: T) => unknown): this {
    if (value === undefined) return this.uint(0);
    this.uint(1);
    write(value);
    return this;
  }

  list<T>(items: readonly T[], write: (item: T) => unknown): this {
    this.uint(items.length);
    for (const item of items) write(item);
    return this;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  #add(bytes: Buffer): this {
    this.#pieces.push(bytes);
    return this;
  }
}
