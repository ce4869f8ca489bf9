import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { syncDirectory } from '../core/files.ts';

/** A checked backup waiting to take the place of the data; its presence is the point of no return of a restore. */
export const readyName = 'restore.ready';

/** What describes the old data only and must not be read together with the new. */
const stale = ['muster.sqlite-wal', 'muster.sqlite-shm', 'muster.sqlite-journal', 'initial-password'];

/** Puts a restored backup in place, if one is waiting. If killed, it goes on when the directory is locked next: nobody opens a mixture. */
export function finishRestore(dir: string): void {
  const ready = join(dir, readyName);
  if (!existsSync(ready)) return;
  const members = join(ready, 'new');
  const replaced = join(ready, 'old');
  mkdirSync(replaced, { recursive: true, mode: 0o700 });
  const arriving = existsSync(members) ? readdirSync(members) : [];
  const moveAway = (name: string) => {
    if (existsSync(join(dir, name))) renameSync(join(dir, name), join(replaced, name));
  };
  if (arriving.length > 0) stale.forEach(moveAway);
  for (const name of arriving) {
    moveAway(name);
    renameSync(join(members, name), join(dir, name));
  }
  syncDirectory(dir);
  rmSync(ready, { recursive: true, force: true });
}
