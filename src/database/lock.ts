import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { DiskFull, isDiskFull } from '../core/disk-full.ts';
import { Fault } from '../core/errors.ts';
import { type FileLock, tryLock } from '../core/file-lock.ts';
import { makeDirectory, syncDirectory } from '../core/files.ts';
import { complain } from '../core/line-sink.ts';

/** Files and directories that are nobody's but muster's. A key of secrets that others could read is refused, since they may have read it. */
const ownFiles = /^(muster\.sqlite|lock\.sqlite|pid$|initial-password$|hosts-lines\.jsonl)/;
const wholeTrees = ['tls', 'ssh', 'long-work', 'blobs'];
/** What is in these keeps its mode: nodes get files with the modes they have here. Named has a user of its own, who reads `dns`. */
const doorsOnly = ['files', 'postscripts', 'dhcp', 'boot'];

/** Takes the rights of others away from what is muster's in a data directory, whatever made it and under whichever umask. */
function makePrivate(dataDir: string): void {
  for (const entry of readdirSync(dataDir, { withFileTypes: true })) {
    const path = join(dataDir, entry.name);
    if (entry.isFile() && ownFiles.test(entry.name)) narrow(path);
    if (!entry.isDirectory()) continue;
    if (wholeTrees.includes(entry.name)) makeTreePrivate(path);
    else if (doorsOnly.includes(entry.name)) narrow(path);
  }
}

/** A directory and all that is in it. Links are not changed. */
export function makeTreePrivate(directory: string): void {
  narrow(directory);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) makeTreePrivate(path);
    else if (entry.isFile()) narrow(path);
  }
}

function narrow(path: string): void {
  try {
    const { mode } = lstatSync(path);
    if ((mode & 0o077) !== 0) chmodSync(path, mode & 0o700);
  } catch (error) {
    complain(`muster: Others may be able to read ${path}: ${(error as Error).message}. Check its owner and mode.\n`);
  }
}

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
