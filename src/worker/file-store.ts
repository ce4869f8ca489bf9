import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../core/errors.ts';
import { makeDirectory } from '../core/files.ts';

interface Stored {
  readonly size: number;
  /** Jobs that use it. */
  users: number;
  /** Where it is, once its content was checked. */
  ready: Promise<string> | undefined;
}

/** Files for nodes that a worker keeps, by the SHA-256 of their content, within a bound: the longest unused go first. */
export class FileStore {
  readonly #directory: string;
  readonly #bound: number;
  /** The longest unused first. */
  readonly #stored = new Map<string, Stored>();
  #size = 0;

  constructor(directory: string, bound: number) {
    makeDirectory(directory);
    // Files are opened by paths without links.
    this.#directory = realpathSync(directory);
    this.#bound = bound;
    const kept = readdirSync(this.#directory).map((name) => ({ name, stats: statSync(join(this.#directory, name)) }));
    for (const { name, stats } of kept.toSorted((a, b) => a.stats.mtimeMs - b.stats.mtimeMs)) {
      if (/^[0-9a-f]{64}$/.test(name)) this.#add(name, stats.size);
      // What a worker that was killed has half fetched.
      else rmSync(join(this.#directory, name));
    }
  }

  /**
   * The path of a file with that content, which is fetched piece by piece unless it is there. It stays until it is released, if the
   * caller says that it `counts` as another user.
   */
  async hold(hash: string, size: number, piece: (index: number) => Promise<Buffer>, counts: boolean): Promise<string> {
    const isThere = this.#stored.has(hash);
    if (!isThere) this.#makeRoom(size);
    const stored = this.#stored.get(hash) ?? this.#add(hash, size);
    this.#stored.delete(hash);
    this.#stored.set(hash, stored);
    // Also while it is fetched: one that made room for others meanwhile would be fetched twice into the same place.
    stored.users++;
    stored.ready ??= isThere ? this.#checked(hash, size, piece) : this.#fetch(hash, size, piece);
    try {
      return await stored.ready;
    } catch (error) {
      stored.ready = undefined;
      throw error;
    } finally {
      if (!counts) this.release(hash);
    }
  }

  release(hash: string): void {
    const stored = this.#stored.get(hash);
    if (!stored) return;
    stored.users--;
    if (stored.users === 0 && !stored.ready) this.#forget(hash, stored);
  }

  #add(hash: string, size: number): Stored {
    const stored: Stored = { size, users: 0, ready: undefined };
    this.#stored.set(hash, stored);
    this.#size += size;
    return stored;
  }

  #forget(hash: string, { size }: Stored): void {
    this.#stored.delete(hash);
    this.#size -= size;
  }

  #makeRoom(size: number): void {
    for (const [hash, stored] of this.#stored) {
      if (this.#size + size <= this.#bound) return;
      if (stored.users > 0) continue;
      rmSync(join(this.#directory, hash), { force: true });
      this.#forget(hash, stored);
    }
    if (this.#size + size > this.#bound)
      throw new Fault(
        'invalid',
        `its files do not fit into the ${this.#bound} bytes that the worker may keep; raise the setting bus.fileCache there.`,
      );
  }

  /** What was kept by a process before this one may have been damaged since. */
  async #checked(hash: string, size: number, piece: (index: number) => Promise<Buffer>): Promise<string> {
    const path = join(this.#directory, hash);
    const found = await hashOf(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return undefined;
    });
    return found === hash ? path : this.#fetch(hash, size, piece);
  }

  async #fetch(hash: string, size: number, piece: (index: number) => Promise<Buffer>): Promise<string> {
    const path = join(this.#directory, hash);
    const half = `${path}.half`;
    const digest = createHash('sha256');
    const file = await open(half, 'w', 0o600);
    try {
      let length = 0;
      for (let index = 0; length < size; index++) {
        const bytes = await piece(index);
        if (bytes.length === 0) break;
        length += bytes.length;
        digest.update(bytes);
        await file.write(bytes);
      }
      if (length !== size || digest.digest('hex') !== hash)
        throw new Fault('invalid', 'a file changed on the server while it was fetched; try again.');
      await rename(half, path);
      return path;
    } catch (error) {
      await rm(half, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  }
}

async function hashOf(path: string): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(path)) digest.update(chunk as Buffer);
  return digest.digest('hex');
}
