import { limiter } from '../../../core/limiter.ts';
import type { Layer } from '../../../protocols/oci/image.ts';
import type { Work } from '../../long-work/work.ts';
import type { BlobCache } from './blob-cache.ts';

const atOnce = 3;

export interface Fetching {
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
