import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { type FileHandle, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { syncDirectory } from '../../core/files.ts';
import { limiter } from '../../core/limiter.ts';
import { openReal } from '../../core/open-real.ts';
import { hexOf, isDigest } from '../../protocols/oci/reference.ts';
import { piecesOf } from '../../protocols/oci/directory-bag.ts';
import type { Layer } from '../../protocols/oci/image.ts';
import type { Work } from '../../work/index.ts';

/** What nobody refers to stays this long: it may belong to a run under way, or to one that is tried again. */
const idleMilliseconds = 24 * 3_600_000;

interface Blob {
  readonly digest: string;
  readonly size: number;
}

/** Layers by their digests, for all images. */
export class BlobCache {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  }

  /** Whether the blob is here and still what its digest says; one that is not is removed. */
  async has({ digest, size }: Blob, signal: AbortSignal): Promise<boolean> {
    const path = this.#path(digest);
    const file = await openIfThere(path);
    if (!file) return false;
    try {
      const hash = createHash('sha256');
      const status = await file.stat();
      if (status.size === size) for await (const piece of piecesOf(file, 0, size, signal)) hash.update(piece);
      if (`sha256:${hash.digest('hex')}` === digest) {
        await utimes(path, new Date(), new Date());
        return true;
      }
    } finally {
      await file.close();
    }
    await rm(path, { force: true });
    return false;
  }

  /** Keeps what comes if it is what the digest says. It is gathered in `staging`, on the same file system. */
  async keep({ digest, size }: Blob, pieces: AsyncIterable<Buffer>, staging: string): Promise<void> {
    const gathered = join(staging, hexOf(digest));
    const hash = createHash('sha256');
    let length = 0;
    const file = await open(gathered, 'wx', 0o600);
    try {
      for await (const piece of pieces) {
        hash.update(piece);
        length += piece.length;
        await file.write(piece);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    if (length !== size || `sha256:${hash.digest('hex')}` !== digest)
      throw new Fault('garbled', `The registry sent something else as ${digest}: ${length} bytes with another digest.`);
    await rename(gathered, this.#path(digest));
    syncDirectory(this.#directory);
  }

  async *open(digest: string, signal: AbortSignal): AsyncIterable<Buffer> {
    const file = await openReal(this.#path(digest));
    try {
      yield* piecesOf(file, 0, (await file.stat()).size, signal);
    } finally {
      await file.close();
    }
  }

  /** Removes what is not used by any image and was not used lately. */
  async prune(used: ReadonlySet<string>, now = Date.now()): Promise<number> {
    let removed = 0;
    for (const name of await readdir(this.#directory)) {
      const digest = `sha256:${name}`;
      if (!isDigest(digest) || used.has(digest)) continue;
      const path = this.#path(digest);
      const status = await stat(path).catch(() => undefined);
      if (!status || now - status.mtimeMs < idleMilliseconds) continue;
      await rm(path, { force: true });
      removed++;
    }
    return removed;
  }

  #path(digest: string): string {
    return join(this.#directory, hexOf(digest));
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await openReal(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

const atOnce = 3;

interface Fetching {
  readonly cache: BlobCache;
  /** On its file system. */
  readonly beside: string;
  /** Bytes that are here now. */
  passed(bytes: number): void;
}

/**
 * Fetches what is not kept yet, some layers at a time, while `use` applies those that are here, in their order. Nothing is under way any
 * more when it ends.
 */
export async function withFetched(
  layers: readonly Layer[],
  { cache, beside, passed }: Fetching,
  task: Work,
  use: (whenHere: (layer: Layer) => Promise<Layer>) => Promise<void>,
): Promise<void> {
  const staging = await task.staging(beside);
  const failed = new AbortController();
  const signal = AbortSignal.any([task.signal, failed.signal]);
  const turns = limiter(atOnce);
  const fetchOne = async (layer: Layer): Promise<void> => {
    signal.throwIfAborted();
    const blob = { digest: layer.digest!, size: layer.size! };
    if (await cache.has(blob, signal)) {
      passed(blob.size);
      task.tell(`${layer.name} is here already.`);
    } else await cache.keep(blob, counted(layer.open(signal), passed), staging);
  };
  // A layer may occur more than once.
  const fetched = new Map<string, Promise<void>>();
  for (const layer of layers) {
    if (!fetched.has(layer.digest!)) {
      const fetching = turns(() => fetchOne(layer));
      fetching.catch((error: unknown) => failed.abort(error));
      fetched.set(layer.digest!, fetching);
    }
  }
  try {
    await use(async (layer) => {
      await fetched.get(layer.digest!);
      return { ...layer, open: (aborted) => cache.open(layer.digest!, aborted) };
    });
  } finally {
    failed.abort();
    await Promise.allSettled(fetched.values());
  }
}

async function* counted(pieces: AsyncIterable<Buffer>, passed: (bytes: number) => void): AsyncIterable<Buffer> {
  for await (const piece of pieces) {
    passed(piece.length);
    yield piece;
  }
}
