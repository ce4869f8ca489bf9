import { readSync } from 'node:fs';
import type { Extent } from './iso/scan.ts';

/** Reads pieces of a medium one after the other, as if they were one. */
export class ExtentReader {
  readonly #fd: number;
  readonly #extents: readonly Extent[];
  #extent = 0;
  /** Bytes of the extent that were read. */
  #done = 0;

  constructor(fd: number, extents: readonly Extent[]) {
    this.#fd = fd;
    this.#extents = extents.filter(({ length }) => length > 0);
  }

  /** Fills a buffer as far as there is more; how many bytes that are. */
  fill(buffer: Buffer): number {
    let filled = 0;
    while (filled < buffer.length && this.#extent < this.#extents.length) {
      const { position, length } = this.#extents[this.#extent]!;
      const wanted = Math.min(buffer.length - filled, length - this.#done);
      const read = readSync(this.#fd, buffer, filled, wanted, position + this.#done);
      if (read === 0) throw new Error('the medium became shorter');
      filled += read;
      this.#done += read;
      if (this.#done < length) continue;
      this.#extent++;
      this.#done = 0;
    }
    return filled;
  }
}
