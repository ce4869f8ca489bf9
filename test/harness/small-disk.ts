import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** A file system with little room, mounted at a new directory. */
export interface SmallDisk {
  readonly directory: string;
  /** Takes all the room that is left. */
  fill(): void;
  makeRoom(): void;
  remove(): void;
}

export function smallDisk(directory: string, kilobytes: number): SmallDisk {
  mkdirSync(directory, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kilobytes}k,mode=700`, 'tmpfs', directory]);
  const ballast = join(directory, 'ballast');
  return {
    directory,
    fill() {
      const handle = openSync(ballast, 'a');
      try {
        for (const block of [65_536, 4_096, 1]) fillWith(handle, Buffer.alloc(block));
      } finally {
        closeSync(handle);
      }
    },
    makeRoom: () => rmSync(ballast),
    remove: () => execFileSync('umount', ['-l', directory]),
  };
}

function fillWith(handle: number, block: Buffer): void {
  try {
    for (;;) writeSync(handle, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}
