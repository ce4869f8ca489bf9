import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { tryLock } from '../../src/core/file-lock.ts';

/** Of every run of this checkout. */
const cache = join(import.meta.dirname, '../../node_modules/.cache/muster-lab');

/**
 * The path of something that is made once, by whoever needs it first: others wait for that process. Its name says everything that decides
 * what it is. `make` is given a directory of its own and returns what of it is kept.
 */
export async function keptOnce(name: string, make: (directory: string) => Promise<string>): Promise<string> {
  const kept = join(cache, name);
  if (existsSync(kept)) return kept;
  mkdirSync(cache, { recursive: true });
  let lock = tryLock(`${kept}.lock`);
  for (; !lock; lock = tryLock(`${kept}.lock`)) await pause(200);
  try {
    if (existsSync(kept)) return kept;
    const building = mkdtempSync(join(cache, 'building-'));
    try {
      renameSync(await make(building), kept);
    } finally {
      rmSync(building, { recursive: true, force: true });
    }
    return kept;
  } finally {
    lock.release();
  }
}
