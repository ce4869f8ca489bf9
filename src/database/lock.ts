import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DiskFull, isDiskFull } from '../core/disk-full.ts';
import { Fault } from '../core/errors.ts';
import { type FileLock, tryLock } from '../core/file-lock.ts';
import { makeDirectory } from '../core/files.ts';
import { complain } from '../core/standard-streams.ts';
import { makePrivate } from './private-files.ts';
import { finishRestore } from './restored.ts';

export const lockFileNames: readonly string[] = ['lock.sqlite', 'lock.sqlite-journal', 'pid'];

/** Makes this process the only one that works on a data directory, until `release` or its death. Makes the directory if need be. */
export function lockDataDirectory(dir: string): FileLock {
  provideDirectory(dir);
  const lock = takeLock(dir);
  const pidFile = join(dir, 'pid');
  try {
    notePid(pidFile);
    finishRestore(dir);
    makePrivate(dir);
  } catch (error) {
    lock.release();
    throw error;
  }
  let isHeld = true;
  return {
    release() {
      if (!isHeld) return;
      isHeld = false;
      rmSync(pidFile, { force: true });
      lock.release();
    },
  };
}

/** For people, and for the sentence below: a disk that is full is no reason not to start. */
function notePid(file: string): void {
  rmSync(file, { force: true });
  try {
    writeFileSync(file, `${process.pid}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    rmSync(file, { force: true });
    complain(`muster: ${file} could not be written: ${(error as Error).message}.\n`);
  }
}

function provideDirectory(dir: string): void {
  try {
    makeDirectory(resolve(dir));
    if (!statSync(dir).isDirectory()) throw Object.assign(new Error(), { code: 'ENOTDIR' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOTDIR' ? 'it, or a part of its path, is not a directory' : message;
    throw new Fault('unavailable', `The data directory ${dir} cannot be used: ${reason}.`);
  }
}

function takeLock(dir: string): FileLock {
  let lock: FileLock | undefined;
  try {
    lock = tryLock(join(dir, 'lock.sqlite'));
  } catch (error) {
    if (isDiskFull(error)) throw new DiskFull('The data directory cannot be locked', dir, error);
    throw new Fault(
      'unavailable',
      `The data directory ${dir} cannot be locked: ${(error as Error).message}. Check that the user who runs muster may write there.`,
    );
  }
  if (!lock) throw new Fault('unavailable', refusal(dir));
  return lock;
}

function refusal(dir: string): string {
  let holder = 'another process';
  try {
    holder = `process ${readFileSync(join(dir, 'pid'), 'utf8').trim()}`;
  } catch {
    // The other process has the lock but has not yet written its id.
  }
  return `The data directory ${dir} is in use by ${holder}. Stop that one first, or choose another directory with --data.`;
}
