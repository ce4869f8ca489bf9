import { createHash } from 'node:crypto';
import { closeSync, constants, fchmodSync, futimesSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Md5Lanes } from '../../../core/md5-lanes.ts';
import { beginWriting } from '../../../core/sync-file-system.ts';
import type { CopyOutcome, CopyPlaces, CopyRequest, FileToCopy } from './copying.ts';
import { ExtentReader } from './extent-reader.ts';
import type { WholeSum } from './whole-sum.ts';

const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
// What stays in the processor's cache is hashed and written for less.
const bufferSize = 65_536;
/** Of larger files there are few, and the last one would keep a lane busy for long while the others have nothing to do. */
const largestTogether = 4 * 1_048_576;

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
  #lanes: Md5Lanes | undefined;

  constructor(places: CopyPlaces, pace: Pace) {
    this.#places = places;
    this.#pace = pace;
  }

  async fulfil(request: CopyRequest): Promise<CopyOutcome> {
    try {
      if (request.kind === 'whole')
        return (await this.#isWhole(request.sum)) ? { kind: 'ready' } : { kind: 'differs', path: undefined };
      const { together, others } = shared(request.files);
      const wrong = (await this.#copyTogether(together)) ?? (await this.#copyEach(others));
      return wrong ? { kind: 'differs', path: wrong.path } : { kind: 'ready' };
    } catch (error) {
      if (error instanceof Stopped) return { kind: 'stopped' };
      throw error;
    }
  }

  /** One after the other, up to the first that is not as its checksum says. */
  async #copyEach(files: readonly FileToCopy[]): Promise<FileToCopy | undefined> {
    for (const file of files) {
      const { checksum } = file;
      const hash = checksum && createHash(checksum.algorithm);
      const copy = new Copy(this.#places, file);
      try {
        for (let length = this.#fill(copy.reader); length > 0; length = this.#fill(copy.reader)) {
          const bytes = this.#buffer.subarray(0, length);
          hash?.update(bytes);
          copy.write(bytes);
          this.#pace.wrote(length);
          await this.#pace.pause?.(length);
        }
        copy.finish();
      } finally {
        copy.close();
      }
      if (hash && hash.digest('hex') !== checksum.digest) return file;
    }
    return undefined;
  }

  /** The same with files that have MD5 sums, several at once: hashing takes longest, and so a fraction of the time. */
  async #copyTogether(files: readonly FileToCopy[]): Promise<FileToCopy | undefined> {
    if (files.length === 0) return undefined;
    const lanes = (this.#lanes ??= new Md5Lanes(bufferSize));
    const waiting = files.values();
    const copies: (Copy | undefined)[] = lanes.buffers.map(() => undefined);
    try {
      for (;;) {
        let read = 0;
        for (const [lane, buffer] of lanes.buffers.entries()) {
          if (lanes.isBusy(lane)) continue;
          if (copies[lane]?.reader.isAtEnd) {
            const done = copies[lane];
            done.finish();
            copies[lane] = undefined;
            done.close();
            if (lanes.digest(lane) !== done.file.checksum!.digest) return done.file;
          }
          if (!copies[lane]) {
            const next = waiting.next().value;
            if (!next) continue;
            copies[lane] = new Copy(this.#places, next);
            lanes.begin(lane);
          }
          const { reader } = copies[lane];
          const length = this.#fill(reader, buffer);
          copies[lane].write(buffer.subarray(0, length));
          lanes.put(lane, length, reader.isAtEnd);
          read += length;
        }
        if (copies.every((copy) => copy === undefined)) return undefined;
        lanes.hash();
        this.#pace.wrote(read);
        await this.#pace.pause?.(read);
      }
    } finally {
      for (const copy of copies) copy?.close();
    }
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

  #fill(reader: ExtentReader, buffer: Buffer = this.#buffer): number {
    if (Atomics.load(this.#places.stop, 0) === 1) throw new Stopped();
    return reader.fill(buffer);
  }
}

/**
 * Which of the files are hashed at once: the small ones last, since the lanes become empty one by one at the end. With most lanes empty,
 * one after the other is faster.
 */
function shared(files: readonly FileToCopy[]): {
  readonly together: readonly FileToCopy[];
  readonly others: readonly FileToCopy[];
} {
  const together = Md5Lanes.isPossible
    ? files.filter((file) => file.checksum?.algorithm === 'md5' && file.size <= largestTogether)
    : [];
  together.sort((a, b) => b.size - a.size);
  const rest = together.length % Md5Lanes.count;
  if (rest < Md5Lanes.count / 2) together.length -= rest;
  const taken = new Set(together);
  return { together, others: files.filter((file) => !taken.has(file)) };
}

/** A file on its way. */
class Copy {
  readonly file: FileToCopy;
  readonly reader: ExtentReader;
  readonly #target: number;

  constructor({ fd, root }: CopyPlaces, file: FileToCopy) {
    this.file = file;
    this.reader = new ExtentReader(fd, file.extents);
    this.#target = openSync(join(root, file.path), flags, 0o600);
  }

  write(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#target, bytes, at);
  }

  /** All of it is written. */
  finish(): void {
    fchmodSync(this.#target, this.file.isExecutable ? 0o755 : 0o644);
    futimesSync(this.#target, this.file.time, this.file.time);
    beginWriting(this.#target);
  }

  close(): void {
    closeSync(this.#target);
  }
}
