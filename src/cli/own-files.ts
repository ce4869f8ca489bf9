import { accessSync, constants, lstatSync, readdirSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { tarEnd, tarHeader, type TarMember, tarPadding } from '../core/tar/write.ts';

/** Files of the caller that a request takes along. */
export interface OwnFiles {
  /** A tar archive of them. */
  archive(): AsyncIterable<Buffer>;
  /** How tar would make it, for `--curl`. */
  readonly tarWords: readonly string[];
}

/** A source that does not exist, or cannot be read. */
export class NoSuchSource extends Error {
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

interface Item extends Omit<TarMember, 'size'> {
  readonly from: Buffer;
}

const slash = Buffer.from('/');
const readSize = 262_144;

/**
 * Files and directories of this machine, by paths from the working directory. All are looked at before the first byte is sent, so that
 * nothing half sent is left to explain.
 */
export function ownFiles(paths: readonly string[]): OwnFiles {
  const items: Item[] = [];
  const tarWords = ['tar', '-c'];
  for (const path of paths) {
    const whole = resolve(path);
    const name = basename(whole);
    if (name === '')
      throw new NoSuchSource(path, `${path} has no name that it could have on the nodes; name what is in it.`);
    if (items.some((item) => item.name.toString() === name))
      throw new NoSuchSource(path, `Two of the files are named ${name}; copy them one by one.`);
    collect(items, Buffer.from(realPath(path)), Buffer.from(name));
    tarWords.push('-C', dirname(whole), name);
  }
  return { archive: () => archiveOf(items), tarWords };
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw unreadable(path, error);
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'No such file or directory',
  EACCES: 'Permission denied',
  ENOTDIR: 'Not a directory',
};

const unreadable = (path: string, error: unknown): NoSuchSource => {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return new NoSuchSource(path, reasons[code] ?? message);
};

/** Links within directories stay links. */
function collect(items: Item[], from: Buffer, name: Buffer): void {
  try {
    const stats = lstatSync(from);
    const item = { from, name, mode: stats.mode & 0o7777, time: Math.max(0, Math.floor(stats.mtimeMs / 1_000)) };
    items.push({ ...item, ...kindOf(from, stats) });
    if (stats.isFile()) accessSync(from, constants.R_OK);
    if (!stats.isDirectory()) return;
    for (const entry of readdirSync(from, { encoding: 'buffer' }).sort(Buffer.compare))
      collect(items, Buffer.concat([from, slash, entry]), Buffer.concat([name, slash, entry]));
  } catch (error) {
    throw error instanceof NoSuchSource ? error : unreadable(from.toString(), error);
  }
}

function kindOf(from: Buffer, stats: Stats): Pick<TarMember, 'kind' | 'link'> {
  if (stats.isFile()) return { kind: 'file' };
  if (stats.isDirectory()) return { kind: 'directory' };
  if (stats.isSymbolicLink()) return { kind: 'link', link: readlinkSync(from, { encoding: 'buffer' }) };
  const path = from.toString();
  throw new NoSuchSource(path, `${path} is neither a file nor a directory nor a link, and cannot be copied.`);
}

async function* archiveOf(items: readonly Item[]): AsyncGenerator<Buffer> {
  for (const item of items) {
    if (item.kind === 'file') yield* fileOf(item);
    else yield tarHeader({ ...item, size: 0 });
  }
  yield tarEnd();
}

async function* fileOf(item: Item): AsyncGenerator<Buffer> {
  const file = await open(item.from, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { size } = await file.stat();
    yield tarHeader({ ...item, size });
    for (let at = 0; at < size; ) {
      const chunk = Buffer.allocUnsafe(Math.min(readSize, size - at));
      const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
      if (bytesRead === 0)
        throw new Error(`${item.from.toString()} became shorter while it was read; nothing was copied.`);
      at += bytesRead;
      yield chunk.subarray(0, bytesRead);
    }
    yield tarPadding(size);
  } finally {
    await file.close();
  }
}
