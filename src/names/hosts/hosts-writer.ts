import {
  type BigIntStats,
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import { type FileLock, tryLock } from '../../core/file-lock.ts';
import { syncDirectory, writeFileAtomically } from '../../core/files.ts';
import { Turns } from '../../core/waiting.ts';
import { beginning, type HostLine, parseHosts } from './hosts-file.ts';

/** Overwrites a file that cannot be renamed over. Readers may see a part of both; if it fails, the old content is put back. */
function overwriteFile(file: string, content: Uint8Array): void {
  const before = readFileSync(file);
  const handle = openSync(file, 'r+');
  try {
    try {
      write(handle, content);
    } catch (error) {
      write(handle, before);
      throw error;
    }
  } finally {
    closeSync(handle);
  }
}

/**
 * Whether a file has been overwritten in part: every byte of it is in its place that of the file before or that of the one that was to
 * be. So it is after a kill at any moment, and hardly ever after somebody else's change.
 */
function isHalfWritten(file: string, before: string, after: string): boolean {
  if (![file, before, after].every((each) => existsSync(each))) return false;
  const [now, old, next] = [file, before, after].map((each) => readFileSync(each)) as [Buffer, Buffer, Buffer];
  if (now.equals(old)) return false;
  if (now.length < Math.min(old.length, next.length) || now.length > Math.max(old.length, next.length)) return false;
  return now.every((byte, i) => byte === old[i] || byte === next[i]);
}

function write(handle: number, content: Uint8Array): void {
  for (let done = 0; done < content.length; ) done += writeSync(handle, content, done, content.length - done, done);
  ftruncateSync(handle, content.length);
  fsyncSync(handle);
}

const lockInterval = 20;
const maximumAttempts = 10;

interface State {
  readonly text: string;
  readonly mode: number;
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
  /** Differs when somebody has changed the file. */
  readonly mark: string;
}

/** The one who writes the hosts file: one change at a time, also among processes, each complete or not there at all. */
export class HostsWriter {
  readonly path: string;
  readonly #timeout: number;
  readonly #turns = new Turns();

  /** `timeout`: milliseconds to wait for another process. */
  constructor(path: string, timeout = 10_000) {
    this.path = path;
    this.#timeout = timeout;
  }

  /** Changes the file to what is computed from its lines; what was there before is kept as a backup. */
  update(compute: (lines: readonly HostLine[]) => string): Promise<void> {
    return this.#turns.take(async () => {
      // A change of a large file takes a while by itself; many that wait must not keep everybody else waiting too.
      await setImmediate();
      await this.#underLock((target) => change(target, compute));
    });
  }

  /** Completes a change of a file that cannot be renamed if a process was killed in the middle of it. */
  async finishInterrupted(): Promise<void> {
    if (existsSync(newFile(this.#target()))) await this.#underLock(() => undefined);
  }

  async #underLock(work: (target: string) => void): Promise<void> {
    try {
      const target = this.#target();
      const lock = await takeLock(target, this.#timeout);
      try {
        tidy(target);
        work(target);
      } finally {
        lock.release();
      }
    } catch (error) {
      if (error instanceof Fault) throw error;
      const reason = (error as Error).message;
      throw new Fault('unavailable', `The hosts file ${this.path} could not be changed and is as it was: ${reason}.`, {
        cause: error,
      });
    }
  }

  /** Where a link leads: the link stays. */
  #target(): string {
    return lstatSync(this.path, { throwIfNoEntry: false }) ? realpathSync(this.path) : this.path;
  }
}

const newFile = (target: string): string => `${target}.muster-new`;
const backupFile = (target: string): string => `${target}.muster-backup`;

async function takeLock(target: string, timeout: number): Promise<FileLock> {
  const deadline = Date.now() + timeout;
  for (;;) {
    const lock = tryLock(`${target}.muster-lock`);
    if (lock) return lock;
    if (Date.now() > deadline)
      throw new Fault('unavailable', `Another process is changing the hosts file ${target}; try again.`, {
        retryAfter: 5,
      });
    await setTimeout(lockInterval);
  }
}

/** Removes or completes what a killed process has left. */
function tidy(target: string): void {
  const prefix = `${basename(target)}.`;
  for (const name of readdirSync(dirname(target))) {
    if (name.startsWith(prefix) && /^(muster-(backup|new)\.)?\d+\.tmp$/.test(name.slice(prefix.length)))
      rmSync(join(dirname(target), name), { force: true });
  }
  if (!existsSync(newFile(target))) return;
  if (isBroken(target)) overwriteFile(target, readFileSync(newFile(target)));
  rmSync(newFile(target));
}

/** Whether the file was being written over; one that somebody has changed since is not ours to complete. */
const isBroken = (target: string): boolean => isHalfWritten(target, backupFile(target), newFile(target));

/** Editors know nothing of the lock, so what they have done meanwhile is looked for just before the new file takes its place. */
function change(target: string, compute: (lines: readonly HostLine[]) => string): void {
  try {
    for (let attempt = 1; attempt <= maximumAttempts; attempt++) {
      const before = read(target);
      const text = compute(parseHosts(before.text));
      if (text === before.text && before.owner) return;
      if (before.owner) writeFileAtomically(backupFile(target), bytes(before.text), before.mode, before.owner);
      const owner = before.owner ?? { uid: process.getuid!(), gid: process.getgid!() };
      writeFileAtomically(newFile(target), bytes(text), before.mode, owner);
      if (markOf(statOf(target)) === before.mark) return putInPlace(target, bytes(text));
    }
    throw new Fault('unavailable', `Somebody else keeps changing ${target}; try again.`, { retryAfter: 5 });
  } catch (error) {
    // What was reported as failed must not be done by the next change.
    if (!isBroken(target)) rmSync(newFile(target), { force: true });
    throw error;
  }
}

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

const statOf = (target: string): BigIntStats | undefined => statSync(target, { bigint: true, throwIfNoEntry: false });

const markOf = (found: BigIntStats | undefined): string =>
  found ? `${found.ino} ${found.size} ${found.mtimeNs}` : 'none';

function read(target: string): State {
  const found = statOf(target);
  const mark = markOf(found);
  if (!found) return { text: beginning, mode: 0o644, owner: undefined, mark };
  if (!found.isFile()) throw new Error('it is not a file');
  const { uid, gid, mode } = found;
  return {
    text: readFileSync(target, 'latin1'),
    mode: Number(mode) & 0o7777,
    owner: { uid: Number(uid), gid: Number(gid) },
    mark,
  };
}

function putInPlace(target: string, content: Uint8Array): void {
  try {
    renameSync(newFile(target), target);
  } catch (error) {
    // A file that is mounted by itself, as /etc/hosts in a container, cannot be renamed over.
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    overwriteFile(target, content);
    rmSync(newFile(target));
  }
  syncDirectory(dirname(target));
}
