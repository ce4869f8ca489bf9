import { createHash } from 'node:crypto';
import { closeSync, constants, fchmodSync, futimesSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { beginWriting } from '../../core/sync-file-system.ts';
import type { Checksum, WholeSum } from './checksums.ts';
import type { Extent } from './iso/scan.ts';

/** A file that is to be written. */
export interface FileToCopy {
  readonly path: string;
  readonly size: number;
  readonly extents: readonly Extent[];
  readonly isExecutable: boolean;
  readonly time: number;
  readonly checksum: Checksum | undefined;
}

/** What is done in one go: some files, or the sum of the whole medium. */
export type CopyRequest =
  | { readonly kind: 'files'; readonly files: readonly FileToCopy[] }
  | { readonly kind: 'whole'; readonly sum: WholeSum };

/** How it ended: more may come, no more was to be done, or a file or the medium as a whole (without a path) is not as its checksum says. */
type CopyOutcome =
  | { readonly kind: 'ready' }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'differs'; readonly path: string | undefined };

/** What all who copy share. */
export interface CopyPlaces {
  /** Of the medium, open in this process. */
  readonly fd: number;
  /** Where the files go. */
  readonly root: string;
  /** Becomes 1 when no more is to be copied. */
  readonly stop: Int32Array<SharedArrayBuffer>;
}

/** What a thread gets. */
export type CopyOrder = CopyRequest | { readonly kind: 'end' };

/** What a thread says. */
export type CopyNote =
  | CopyOutcome
  | { readonly kind: 'progress'; readonly bytes: number }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };

/** Reads pieces of a medium one after the other, as if they were one. */
class ExtentReader {
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

const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
// What stays in the processor's cache is hashed and written for less.
const bufferSize = 65_536;

class Stopped extends Error {}

interface Pace {
  /** Gets the number of bytes that were read, before more are; a promise halts the work. */
  pause?(bytes: number): Promise<void> | undefined;
  wrote(bytes: number): void;
}

/** Reads, hashes and writes files, which keeps one processor busy. */
export class FileCopier {
  readonly #places: CopyPlaces;
  readonly #pace: Pace;
  readonly #buffer = Buffer.allocUnsafeSlow(bufferSize);

  constructor(places: CopyPlaces, pace: Pace) {
    this.#places = places;
    this.#pace = pace;
  }

  async fulfil(request: CopyRequest): Promise<CopyOutcome> {
    try {
      if (request.kind === 'whole')
        return (await this.#isWhole(request.sum)) ? { kind: 'ready' } : { kind: 'differs', path: undefined };
      for (const file of request.files) if (!(await this.#copy(file))) return { kind: 'differs', path: file.path };
      return { kind: 'ready' };
    } catch (error) {
      if (error instanceof Stopped) return { kind: 'stopped' };
      throw error;
    }
  }

  /** Whether the file is as its checksum says. */
  async #copy({ path, extents, checksum, isExecutable, time }: FileToCopy): Promise<boolean> {
    const hash = checksum && createHash(checksum.algorithm);
    const reader = new ExtentReader(this.#places.fd, extents);
    const target = openSync(join(this.#places.root, path), flags, 0o600);
    try {
      for (let length = this.#fill(reader); length > 0; length = this.#fill(reader)) {
        const bytes = this.#buffer.subarray(0, length);
        hash?.update(bytes);
        for (let at = 0; at < length; ) at += writeSync(target, bytes, at);
        this.#pace.wrote(length);
        await this.#pace.pause?.(length);
      }
      fchmodSync(target, isExecutable ? 0o755 : 0o644);
      futimesSync(target, time, time);
      beginWriting(target);
    } finally {
      closeSync(target);
    }
    return hash?.digest('hex') === checksum?.digest;
  }

  async #isWhole({ digest, length, blank }: WholeSum): Promise<boolean> {
    const hash = createHash('md5');
    const plain = async (position: number, end: number): Promise<void> => {
      const reader = new ExtentReader(this.#places.fd, [{ position, length: end - position }]);
      for (let read = this.#fill(reader); read > 0; read = this.#fill(reader)) {
        hash.update(this.#buffer.subarray(0, read));
        await this.#pace.pause?.(read);
      }
    };
    await plain(0, blank.at);
    hash.update(Buffer.alloc(blank.length, ' '));
    await plain(blank.at + blank.length, length);
    return hash.digest('hex') === digest;
  }

  #fill(reader: ExtentReader): number {
    if (Atomics.load(this.#places.stop, 0) === 1) throw new Stopped();
    return reader.fill(this.#buffer);
  }
}
