import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { chmod, chown, mkdir, open, rename, rm, utimes } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Fault } from '../../core/errors.ts';

const mostLinks = 40;

/**
 * Where a path of an image lies here, as a program in the image would find it: links lead to places in the tree, never out of it. The
 * last part is not followed if it is a link, unless `follow` says so. Nothing else may work in the tree meanwhile.
 */
export function inTree(tree: string, path: string, { follow = true } = {}): string {
  let links = 0;
  const found: string[] = [];
  const rest = path.split('/').reverse();
  while (rest.length > 0) {
    const part = rest.pop()!;
    if (part === '' || part === '.') continue;
    if (part === '..') {
      found.pop();
      continue;
    }
    const here = join(tree, ...found, part);
    const isLast = rest.every((each) => each === '' || each === '.');
    const entry = lstatSync(here, { throwIfNoEntry: false });
    if (!entry?.isSymbolicLink() || (isLast && !follow)) {
      found.push(part);
      continue;
    }
    if (++links > mostLinks) throw new Fault('invalid', `${path} in the image leads through too many links.`);
    const target = readlinkSync(here);
    if (target.startsWith('/')) found.length = 0;
    rest.push(...target.split('/').reverse());
  }
  return join(tree, ...found);
}

interface Made {
  readonly mode: number;
  /** Seconds; absent: now. */
  readonly time?: number;
  readonly uid?: number;
  readonly gid?: number;
}

/** Puts a file into a tree, also where it shares its old content with another tree; directories above it are made. */
export async function writeInTree(tree: string, path: string, content: string | Buffer, made: Made): Promise<void> {
  const file = inTree(tree, path);
  const time = made.time === undefined ? {} : { time: made.time };
  await makeDirectoryInTree(tree, dirname(file).slice(tree.length), { mode: 0o755, ...time });
  await keepingTime(dirname(file), async () => {
    const temporary = join(dirname(file), `.${basename(file)}.muster`);
    await rm(temporary, { force: true });
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(content);
      await handle.chown(made.uid ?? 0, made.gid ?? 0);
      await handle.chmod(made.mode);
      if (made.time !== undefined) await handle.utimes(made.time, made.time);
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  });
}

/** Makes a directory and those above it; one that exists stays as it is. */
export async function makeDirectoryInTree(tree: string, path: string, made: Made): Promise<void> {
  const place = inTree(tree, path);
  const entry = lstatSync(place, { throwIfNoEntry: false });
  if (entry?.isDirectory()) return;
  if (entry) throw new Fault('invalid', `${path} in the image is not a directory.`);
  const above = place.slice(tree.length).split('/').slice(0, -1).join('/');
  await makeDirectoryInTree(tree, above || '/', { ...made, mode: 0o755, uid: 0, gid: 0 });
  await keepingTime(dirname(place), async () => {
    await mkdir(place, { mode: made.mode });
    await chown(place, made.uid ?? 0, made.gid ?? 0);
    await chmod(place, made.mode);
    if (made.time !== undefined) await utimes(place, made.time, made.time);
  });
}

/** Changes in a directory that shall not be seen by its time: the same tree packs to the same bytes. */
export async function keepingTime<T>(directory: string, work: () => Promise<T>): Promise<T> {
  const { atime, mtime } = lstatSync(directory);
  const result = await work();
  await utimes(directory, atime, mtime);
  return result;
}

/** The content of a file of a tree; undefined if there is none. */
export const readInTree = async (tree: string, path: string): Promise<Buffer | undefined> =>
  readWhole(inTree(tree, path));

/** Bytes, far more than any file has that is read as a whole. A hole makes a large file of a small container. */
export const largestRead = 256 * 1024 * 1024;

/** The content of a file that came with an image; undefined if there is none. */
export function readWhole(file: string): Buffer | undefined {
  const entry = lstatSync(file, { throwIfNoEntry: false });
  if (!entry?.isFile()) return undefined;
  if (entry.size > largestRead) throw tooLarge(file);
  return readFileSync(file);
}

export const tooLarge = (file: string): Fault =>
  new Fault(
    'invalid',
    `${basename(file)} in the image has more than ${largestRead} bytes, more than such a file may have.`,
  );
