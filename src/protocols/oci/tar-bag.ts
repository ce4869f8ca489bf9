import type { FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { openReal } from '../../core/open-real.ts';
import { blockSize, TarError } from '../../core/tar/header.ts';
import { TarReader } from '../../core/tar/reader.ts';
import type { Bag } from './image.ts';
import { missing, piecesOf } from './directory-bag.ts';
import { sniffCompression } from './choose.ts';

interface Place {
  readonly at: number;
  readonly size: number;
}

/** An image has a few files for each layer. */
const mostFiles = 20_000;
const mostLinks = 8;

/** The files of an archive, by looking once through its headers. */
export class TarBag implements Bag {
  readonly where: string;
  readonly #file: FileHandle;
  readonly #places: ReadonlyMap<string, Place | string>;

  private constructor(file: FileHandle, places: ReadonlyMap<string, Place | string>, where: string) {
    this.#file = file;
    this.#places = places;
    this.where = where;
  }

  /** `path` was resolved. */
  static async open(path: string, where: string, signal: AbortSignal): Promise<TarBag> {
    const file = await openReal(path);
    try {
      return new TarBag(file, await scan(file, where, signal), where);
    } catch (error) {
      await file.close();
      if (error instanceof TarError)
        throw new Fault('garbled', `${where} is not an archive that can be read: ${error.message}.`, { cause: error });
      throw error;
    }
  }

  async read(name: string, most: number): Promise<Buffer | undefined> {
    const place = this.#place(name);
    if (!place) return undefined;
    if (place.size > most) throw new Fault('garbled', `${name} in ${this.where} has more than ${most} bytes.`);
    const { buffer, bytesRead } = await this.#file.read(Buffer.alloc(place.size), 0, place.size, place.at);
    return buffer.subarray(0, bytesRead);
  }

  sizeOf(name: string): Promise<number | undefined> {
    return Promise.resolve(this.#place(name)?.size);
  }

  async *open(name: string, signal: AbortSignal): AsyncIterable<Buffer> {
    const place = this.#place(name);
    if (!place) throw missing(name, this.where);
    yield* piecesOf(this.#file, place.at, place.size, signal);
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  /** Docker writes a layer that several images share once and links to it. */
  #place(name: string): Place | undefined {
    let found = this.#places.get(name);
    for (let links = 0; typeof found === 'string' && links < mostLinks; links++) found = this.#places.get(found);
    return typeof found === 'string' ? undefined : found;
  }
}

async function scan(file: FileHandle, where: string, signal: AbortSignal): Promise<Map<string, Place | string>> {
  const { size } = await file.stat();
  const places = new Map<string, Place | string>();
  // Headers are read block by block, so data begins behind the last block read.
  let position = 0;
  const reader = new TarReader({
    entry(entry) {
      if (places.size >= mostFiles) throw new TarError(`it has more than ${mostFiles} files`);
      if (entry.pieces) throw new TarError('it has a sparse file, which no image archive has');
      const name = cleanName(entry.path);
      if (entry.kind === 'file') places.set(name, { at: position, size: entry.size });
      else if (entry.kind === 'hard link') places.set(name, cleanName(entry.link));
      else if (entry.kind === 'symbolic link') places.set(name, cleanName(posix.join(posix.dirname(name), entry.link)));
    },
    data: () => {},
    end: () => {},
  });
  const block = Buffer.allocUnsafe(blockSize);
  while (position < size) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(block, 0, blockSize, position);
    if (bytesRead === 0) break;
    if (position === 0 && sniffCompression(block.subarray(0, bytesRead)) !== 'none')
      throw new Fault('invalid', `${where} is compressed: decompress it first.`);
    position += bytesRead;
    reader.push(block.subarray(0, bytesRead));
    while (reader.skippable > 0 && position < size) {
      const skipped = Math.min(reader.skippable, size - position);
      position += skipped;
      reader.skip(skipped);
    }
  }
  reader.finish();
  return places;
}

const cleanName = (name: string): string => posix.normalize(name).replace(/^\/|\/$/g, '');
