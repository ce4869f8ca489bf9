import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { Fault } from '../../../core/errors.ts';
import { openReal } from '../../../core/open-real.ts';
import { SharedPieces } from '../../../core/shared-pieces.ts';

/** Bytes that are read and written at once. With its head such a write fits into eight packets of SSH. */
export const pieceSize = 8 * 32 * 1024 - 1024;

/** A file that is sent to many nodes. */
export class SharedSource {
  readonly path: string | Buffer;
  readonly size: number;
  /** Permissions only. */
  readonly mode: number;
  /** Seconds. */
  readonly accessed: number;
  readonly modified: number;
  readonly #file: FileHandle;
  readonly #pieces = new SharedPieces((index) => this.#read(index));

  private constructor(path: string | Buffer, file: FileHandle, stats: Stats) {
    this.path = path;
    this.#file = file;
    this.size = stats.size;
    this.mode = stats.mode & 0o7777;
    this.accessed = Math.floor(stats.atimeMs / 1_000);
    this.modified = Math.floor(stats.mtimeMs / 1_000);
  }

  /** The path must be a resolved one: links are not followed. */
  static async open(path: string | Buffer): Promise<SharedSource> {
    const { file, stats } = await openSource(path);
    return new SharedSource(path, file, stats);
  }

  get pieces(): number {
    return Math.ceil(this.size / pieceSize);
  }

  /** How many pieces were read from the file so far. */
  get reads(): number {
    return this.#pieces.made;
  }

  /** Nobody may change it. */
  piece(index: number): Promise<Buffer> {
    return this.#pieces.get(index);
  }

  async close(): Promise<void> {
    this.#pieces.clear();
    await this.#file.close();
  }

  async #read(index: number): Promise<Buffer> {
    const start = index * pieceSize;
    const piece = Buffer.allocUnsafeSlow(Math.min(pieceSize, this.size - start));
    await fillFrom(this.#file, this.path, piece, start);
    return piece;
  }
}

/** Opens a file that is to be sent, by a resolved path. */
export async function openSource(path: string | Buffer): Promise<{ readonly file: FileHandle; readonly stats: Stats }> {
  const file = await openReal(path).catch((error: unknown) => {
    throw unreadable(path, (error as Error).message);
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw unreadable(path, 'it is not a file');
    return { file, stats };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Fills the bytes with those of the file from there on. */
export async function fillFrom(file: FileHandle, path: string | Buffer, bytes: Buffer, start: number): Promise<void> {
  for (let filled = 0; filled < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, start + filled);
    if (bytesRead === 0) throw unreadable(path, 'it became shorter while it was read');
    filled += bytesRead;
  }
}

function unreadable(path: string | Buffer, reason: string): Fault {
  return new Fault('invalid', `${path.toString()} cannot be sent: ${reason}.`);
}
