import { createHash } from 'node:crypto';
import { closeSync, constants, fchmodSync, futimesSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { beginWriting } from '../../../core/sync-file-system.ts';
import type { CopyOutcome, CopyPlaces, CopyRequest, FileToCopy } from './copying.ts';
import type { WholeSum } from './whole-sum.ts';

const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

class Stopped extends Error {}

export interface Pace {
  /** Told of the bytes that were read, before more are; a promise halts the work. */
  pause?(bytes: number): Promise<void> | undefined;
  wrote(bytes: number): void;
}

/** Reads, hashes and writes one file after the other, which keeps one processor busy. */
export class FileCopier {
  readonly #places: CopyPlaces;
  readonly #pace: Pace;
  // What stays in the processor's cache is hashed and written for less.
  readonly #buffer = Buffer.allocUnsafeSlow(65_536);

  constructor(places: CopyPlaces, pace: Pace) {
    this.#places = places;
    this.#pace = pace;
  }

  async fulfil(request: CopyRequest): Promise<CopyOutcome> {
    try {
      if (request.kind === 'whole') {
        if (!(await this.#isWhole(request.sum))) return { kind: 'differs', path: undefined };
      } else {
        for (const file of request.files) if (!(await this.#copy(file))) return { kind: 'differs', path: file.path };
      }
      return { kind: 'ready' };
    } catch (error) {
      if (error instanceof Stopped) return { kind: 'stopped' };
      throw error;
    }
  }

  async #copy({ path, extents, isExecutable, time, checksum }: FileToCopy): Promise<boolean> {
    const hash = checksum && createHash(checksum.algorithm);
    const target = openSync(join(this.#places.root, path), flags, 0o600);
    try {
      for (const { position, length } of extents) {
        await this.#each(position, length, (bytes) => {
          hash?.update(bytes);
          for (let at = 0; at < bytes.length; ) at += writeSync(target, bytes, at);
          this.#pace.wrote(bytes.length);
        });
      }
      fchmodSync(target, isExecutable ? 0o755 : 0o644);
      futimesSync(target, time, time);
      beginWriting(target);
    } finally {
      closeSync(target);
    }
    return hash === undefined || hash.digest('hex') === checksum!.digest;
  }

  async #isWhole({ digest, length, blank }: WholeSum): Promise<boolean> {
    const hash = createHash('md5');
    const plain = (position: number, end: number): Promise<void> =>
      this.#each(position, end - position, (bytes) => void hash.update(bytes));
    await plain(0, blank.at);
    hash.update(Buffer.alloc(blank.length, ' '));
    await plain(blank.at + blank.length, length);
    return hash.digest('hex') === digest;
  }

  async #each(position: number, length: number, use: (bytes: Buffer) => void): Promise<void> {
    const { fd, stop } = this.#places;
    for (let done = 0; done < length; ) {
      if (Atomics.load(stop, 0) === 1) throw new Stopped();
      const read = readSync(fd, this.#buffer, 0, Math.min(this.#buffer.length, length - done), position + done);
      if (read === 0) throw new Error('the medium became shorter');
      use(this.#buffer.subarray(0, read));
      done += read;
      const pause = this.#pace.pause?.(read);
      if (pause) await pause;
    }
  }
}
