import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fault } from './errors.ts';

const writableByOthers = 0o022;
const sticky = 0o1000;

/**
 * Fails if another user could rename what muster makes in a directory and put a link in its place: then muster, as root, would write
 * wherever that user wants. `directory` is a real path; what does not exist of it is muster's to make.
 */
export function checkSafeDirectory(directory: string): void {
  for (let path = directory; ; path = dirname(path)) {
    const status = statSync(path, { throwIfNoEntry: false });
    if (status) {
      const { uid, mode } = status;
      if (uid !== 0 && uid !== process.geteuid!())
        throw unsafe(path, `belongs to the user with the id ${uid}`, `chown root ${path}`);
      if ((mode & writableByOthers) !== 0 && (mode & sticky) === 0)
        throw unsafe(path, 'can be written by other users', `chmod go-w ${path}`);
    }
    if (path === dirname(path)) return;
  }
}

const unsafe = (path: string, why: string, command: string): Fault =>
  new Fault(
    'invalid',
    `${path} ${why}, who could replace what muster makes there; run "${command}" on the management node and try again.`,
  );

/**
 * Makes a directory and those above it. Not by the recursive option: where a file system refuses new directories with ENOENT, as /proc
 * does, that never returns.
 */
export function makeDirectory(directory: string): void {
  if (existsSync(directory)) return;
  makeDirectory(dirname(directory));
  mkdirSync(directory, { mode: 0o700 });
}

/** Makes what was created or renamed in a directory survive a power cut. */
export function syncDirectory(directory: string): void {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Makes what was written to a file survive a power cut. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Puts a whole file in place or leaves the old one. Others may own the directory: what they put at the temporary name is not followed. */
export function writeFileAtomically(
  file: string,
  content: string | Uint8Array,
  mode: number,
  /** Of a file that was there: it is kept, and its mode whatever the umask. */
  owner?: { readonly uid: number; readonly gid: number },
): void {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    rmSync(temporary, { force: true });
    const handle = openSync(temporary, 'wx', mode);
    try {
      if (owner) {
        fchownSync(handle, owner.uid, owner.gid);
        fchmodSync(handle, mode);
      }
      writeFileSync(handle, content);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncDirectory(dirname(file));
}

/** The text of a file; undefined if it is not there or cannot be read. */
export function readOptional(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
