import type { Stats } from 'node:fs';
import { lstat, readlink } from 'node:fs/promises';
import { basename, posix, resolve } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { readRealDirectory } from '../../core/open-real.ts';
import type { RemoteFiles } from '../../protocols/ssh/sftp/files.ts';
import { temporaryEnding } from '../../protocols/ssh/sftp/temporary-names.ts';
import { fileKinds, kindOf } from '../../protocols/ssh/sftp/wire.ts';

export async function isDirectory(files: RemoteFiles, path: Buffer): Promise<boolean> {
  return kindOf(await files.stat(path)) === fileKinds.directory;
}

/** The directory and those it is in, as far as they are missing; `mode` is its own. */
export async function makeDirectories(files: RemoteFiles, path: Buffer, mode = 0o755): Promise<void> {
  if (await isDirectory(files, path)) return;
  const end = path.at(-1) === 0x2f ? path.length - 1 : path.length;
  const mark = path.lastIndexOf('/', end - 1);
  if (mark > 0) await makeDirectories(files, path.subarray(0, mark));
  try {
    await files.makeDirectory(path.subarray(0, end), mode);
  } catch (error) {
    // Somebody else may have made it meanwhile.
    if (!(error instanceof Fault && (await isDirectory(files, path)))) throw error;
  }
}

/** Under a temporary name first, so that it takes the place of another in one step. */
export async function putLink(files: RemoteFiles, path: Buffer, destination: Buffer): Promise<void> {
  const mark = path.lastIndexOf('/') + 1;
  const name = Buffer.from(temporaryEnding());
  const temporary = Buffer.concat([path.subarray(0, mark), name]);
  await files.makeLink(temporary, destination);
  try {
    await files.rename(temporary, path);
  } catch (error) {
    await files.remove(temporary).catch(() => undefined);
    throw error;
  }
}

/** A file, directory or link to send. Names are bytes, since they need not be UTF-8. */
export interface CargoItem {
  readonly kind: 'file' | 'directory' | 'link';
  /** Where it is here. */
  readonly from: Buffer;
  /** Its path below the target. */
  readonly name: Buffer;
  /** Permissions only. */
  readonly mode: number;
  /** Seconds. */
  readonly accessed: number;
  readonly modified: number;
  /** What a link says. */
  readonly destination: Buffer | undefined;
  readonly size: number;
  readonly uid: number;
  readonly gid: number;
}

/** An item with its path on a node. */
export interface Placed {
  readonly item: CargoItem;
  readonly path: Buffer;
  /** Where that is below the directory that all go to; one text for all ways to write it, as `pathKey` makes it. */
  readonly key: string;
}

/** An absolute path without what means nothing in it. Each character is a byte, since names need not be UTF-8. */
export function pathKey(path: Buffer): string {
  const key = posix.normalize(`/${path.toString('latin1')}`);
  return key.length > 1 && key.endsWith('/') ? key.slice(0, -1) : key;
}

/** What is sent to nodes: directories before what is in them. */
export interface Cargo {
  readonly items: readonly CargoItem[];
  /** Bytes of all files. */
  readonly size: number;
}

/** `real` is where a path leads; on the node it has the name it was asked for by. */
export interface CargoRoot {
  readonly path: string;
  readonly real: string;
}

export const maximumItems = 100_000;

/** Looks at all that has to be sent. Links within directories stay links, so nothing outside is reached through them. */
export async function loadCargo(roots: readonly CargoRoot[]): Promise<Cargo> {
  const items: CargoItem[] = [];
  let size = 0;
  const take = async (from: Buffer, name: Buffer): Promise<void> => {
    if (items.length === maximumItems) {
      throw new Fault('invalid', `there are more than ${maximumItems} files to send; send an archive instead.`);
    }
    const stats = await lstat(from).catch(refused(from));
    const item = await itemOf(from, name, stats);
    items.push(item);
    if (item.kind === 'file') size += item.size;
    if (item.kind !== 'directory') return;
    for (const entry of await readRealDirectory(from).catch(refused(from))) {
      await take(join(from, entry), join(name, entry));
    }
  };
  const names = new Set<string>();
  for (const { path, real } of roots) {
    // Without what leads back up, which would be the name of a directory outside the target.
    const name = basename(resolve(path));
    if (names.has(name)) throw new Fault('invalid', `two of the sources are named ${name}; copy them one by one.`);
    names.add(name);
    await take(Buffer.from(real), Buffer.from(name));
  }
  return { items, size };
}

async function itemOf(from: Buffer, name: Buffer, stats: Stats): Promise<CargoItem> {
  const kind = stats.isFile()
    ? 'file'
    : stats.isDirectory()
      ? 'directory'
      : stats.isSymbolicLink()
        ? 'link'
        : undefined;
  if (kind === undefined) {
    throw new Fault('invalid', `${from.toString()} cannot be sent: it is neither a file nor a directory nor a link.`);
  }
  return {
    kind,
    from,
    name,
    mode: stats.mode & 0o7777,
    accessed: Math.floor(stats.atimeMs / 1_000),
    modified: Math.floor(stats.mtimeMs / 1_000),
    destination: kind === 'link' ? await readlink(from, { encoding: 'buffer' }).catch(refused(from)) : undefined,
    size: stats.size,
    uid: stats.uid,
    gid: stats.gid,
  };
}

const slash = Buffer.from('/');

export const join = (directory: Buffer, name: Buffer): Buffer =>
  directory.at(-1) === slash[0] ? Buffer.concat([directory, name]) : Buffer.concat([directory, slash, name]);

/** The directory that a path is in. */
export function parentOf(path: Buffer): Buffer {
  const mark = path.lastIndexOf('/');
  return mark < 0 ? Buffer.from('.') : path.subarray(0, Math.max(1, mark));
}

function refused(from: Buffer): (error: unknown) => never {
  return (error) => {
    throw new Fault('invalid', `${from.toString()} cannot be sent: ${(error as Error).message}.`, { cause: error });
  };
}

/** Bytes in a millisecond that a node takes at least, and that all who are sent to at once take together: they share a line. */
const slowest = 1_024;
const slowestTogether = 32 * 1_024;
/** Milliseconds for an item: a node far away takes some answers' time, and many nodes at once take turns here. */
const perItem = 100;
const perItemTogether = 5;

/** Milliseconds that sending cargo to so many nodes at once may take each of them, beyond the usual timeout. */
export function copyAllowance({ items, size }: Cargo, atOnce: number): number {
  const forBytes = size * Math.max(1 / slowest, atOnce / slowestTogether);
  return Math.ceil(forBytes + items.length * Math.max(perItem, atOnce * perItemTogether));
}
