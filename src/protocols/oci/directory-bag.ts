import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { openReal } from '../../core/open-real.ts';
import type { Bag } from './image.ts';

const pieceSize = 512 * 1024;

/** A part of a file. The next piece is read while one is used. */
export async function* piecesOf(
  file: FileHandle,
  start: number,
  size: number,
  signal: AbortSignal,
): AsyncIterable<Buffer> {
  const end = start + size;
  const readAt = async (at: number): Promise<Buffer> => {
    const wanted = Math.min(pieceSize, end - at);
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(wanted), 0, wanted, at);
    return buffer.subarray(0, bytesRead);
  };
  for (let at = start; at < end; ) {
    signal.throwIfAborted();
    const piece = await readAt(at);
    if (piece.length === 0) return;
    at += piece.length;
    yield piece;
  }
}

/** The files of a directory whose path was resolved. Links in it are not followed. */
export class DirectoryBag implements Bag {
  readonly where: string;
  readonly #directory: string;

  constructor(directory: string, where: string) {
    this.where = where;
    this.#directory = directory;
  }

  async read(name: string, most: number): Promise<Buffer | undefined> {
    return this.#with(name, async (file, size) => {
      if (size > most) throw new Fault('garbled', `${name} in ${this.where} has more than ${most} bytes.`);
      return file.readFile();
    });
  }

  sizeOf(name: string): Promise<number | undefined> {
    return this.#with(name, (_file, size) => Promise.resolve(size));
  }

  async *open(name: string, signal: AbortSignal): AsyncIterable<Buffer> {
    const opened = await this.#open(name);
    if (!opened) throw missing(name, this.where);
    try {
      yield* piecesOf(opened.file, 0, opened.size, signal);
    } finally {
      await opened.file.close();
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #with<T>(name: string, use: (file: FileHandle, size: number) => Promise<T>): Promise<T | undefined> {
    const opened = await this.#open(name);
    if (!opened) return undefined;
    try {
      return await use(opened.file, opened.size);
    } finally {
      await opened.file.close();
    }
  }

  async #open(name: string): Promise<{ readonly file: FileHandle; readonly size: number } | undefined> {
    let file: FileHandle;
    try {
      file = await openReal(join(this.#directory, name));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
      throw new Fault('invalid', `${name} in ${this.where} cannot be read: ${message}.`, { cause: error });
    }
    const status = await file.stat();
    if (status.isFile()) return { file, size: status.size };
    await file.close();
    throw new Fault('invalid', `${name} in ${this.where} is not a file.`);
  }
}

export const missing = (name: string, where: string): Fault => new Fault('garbled', `${where} has no file ${name}.`);
