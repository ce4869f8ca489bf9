import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { Fault } from '../../../core/errors.ts';
import { openReal } from '../../../core/open-real.ts';

/** Bytes that are read and written at once. With its head such a write fits into eight packets of SSH. */
export const pieceSize = 8 * 32 * 1024 - 1024;
/** Pieces kept for those that come later: 32 MiB. */
const cachedPieces = 128;

/** A file that is sent to many nodes. Pieces are read once for those who are about as far; who fell behind reads again. */
export class SharedSource {
  readonly path: string | Buffer;
  readonly size: number;
  /** Permissions only. */
  readonly mode: number;
  /** Seconds. */
  readonly accessed: number;
  readonly modified: number;
  readonly #file: FileHandle;
  readonly #pieces = new Map<number, Promise<Buffer>>();
  #reads = 0;

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
    const file = await openReal(path).catch((error: unknown) => {
      throw unreadable(path, (error as Error).message);
    });
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw unreadable(path, 'it is not a file');
      return new SharedSource(path, file, stats);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  get pieces(): number {
    return Math.ceil(this.size / pieceSize);
  }

  /** How many pieces were read from the file so far. */
  get reads(): number {
    return this.#reads;
  }

  /** Nobody may change it. */
  piece(index: number): Promise<Buffer> {
    const cached = this.#pieces.get(index);
    if (cached) return cached;
    if (this.#pieces.size >= cachedPieces) this.#pieces.delete(this.#pieces.keys().next().value!);
    const piece = this.#read(index);
    this.#pieces.set(index, piece);
    return piece;
  }

  async close(): Promise<void> {
    this.#pieces.clear();
    await this.#file.close();
  }

  async #read(index: number): Promise<Buffer> {
    this.#reads++;
    const start = index * pieceSize;
    const piece = Buffer.allocUnsafeSlow(Math.min(pieceSize, this.size - start));
    for (let filled = 0; filled < piece.length; ) {
      const { bytesRead } = await this.#file.read(piece, filled, piece.length - filled, start + filled);
      if (bytesRead === 0) throw unreadable(this.path, 'it became shorter while it was read');
      filled += bytesRead;
    }
    return piece;
  }
}

function unreadable(path: string | Buffer, reason: string): Fault {
  return new Fault('invalid', `${path.toString()} cannot be sent: ${reason}.`);
}
