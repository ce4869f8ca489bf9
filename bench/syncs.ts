import { statSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './process.ts';
import { newDirectory } from './server.ts';

let library: Promise<string> | undefined;

async function compile(): Promise<string> {
  const file = join(newDirectory(), 'slow-sync.so');
  await run(['gcc', '-shared', '-fPIC', '-O1', '-o', file, join(import.meta.dirname, 'slow-sync.c'), '-ldl']);
  return file;
}

export interface WatchedSyncs {
  readonly env: Readonly<Record<string, string>>;
  /** How often the process has synced so far. */
  count(): number;
}

/** The environment of a process whose syncs are counted and take so many milliseconds longer. */
export async function watchedSyncs(delay: number): Promise<WatchedSyncs> {
  const file = await (library ??= compile());
  const counts = join(newDirectory(), 'syncs');
  return {
    env: { LD_PRELOAD: file, SYNC_COUNT: counts, SYNC_DELAY: String(delay * 1000) },
    count: () => statSync(counts, { throwIfNoEntry: false })?.size ?? 0,
  };
}
