import { createHash } from 'node:crypto';
import { closeSync, constants, fchmodSync, futimesSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { beginWriting } from '../../../core/sync-file-system.ts';
import type { CopyOutcome, CopyPlaces, CopyRequest, FileToCopy } from './copying.ts';
import { ExtentReader } from './extent-reader.ts';
import type { WholeSum } from './whole-sum.ts';

const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
// What stays in the processor's cache is hashed and written for less.
const bufferSize = 65_536;

class Stopped extends Error {}

export interface Pace {
  /** Told of the bytes that were read, before more are; a promise halts the work. */
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
