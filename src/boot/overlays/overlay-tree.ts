import { isUtf8 } from 'node:buffer';
import type { Stats } from 'node:fs';
import { type FileHandle, lstat, readlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { openReal, readRealDirectory } from '../../core/open-real.ts';
import { privateName } from '../../images/index.ts';
import type { OverlaySource } from './overlay-sources.ts';

/** Something of an overlay, as it lies here. */
export interface OverlayEntry {
  readonly kind: 'file' | 'directory' | 'link';
  /** On the node. */
  readonly path: string;
  /** Here. */
  readonly from: string;
  /** What its content is before it is made for a node; of a link, where it leads. */
  readonly content: Buffer;
  /** Permissions only. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly isTemplate: boolean;
  /** Whether a secret is part of its content; only of what was made for a node. */
  readonly hasSecret?: boolean;
  /** Whether root alone can change it here, and all directories above it. */
  readonly isRoots: boolean;
  /** The name of its overlay. */
  readonly overlay: string;
}

/** An overlay is for the small files in which nodes differ. Each node that boots has it in memory, here and there. */
export const bounds = { entries: 10_000, bytes: 8 * 1024 * 1024 } as const;

const ending = '.tmpl';
/** Directories that the kernel fills, or that the initial RAM disk puts its own in place of. */
const taken = ['/proc', '/sys', '/dev', '/run', '/var/run'];

/** What a node gets of its overlays, directories before what is in them. What stands in a later overlay replaces what an earlier one has. */
export async function overlayTree(sources: readonly OverlaySource[]): Promise<OverlayEntry[]> {
  const found = new Map<string, OverlayEntry>();
  const budget = { entries: 0, bytes: 0 };
  for (const source of sources) {
    const own = new Set<string>();
    const isRoots = await isRootsAlone(source.directory);
    for await (const entry of entriesBelow(
      source,
      { from: Buffer.from(source.directory), path: '', isRoots },
      budget,
    )) {
      if (own.has(entry.path))
        throw refused(entry, `the overlay has ${entry.path} twice, with and without ${ending}; remove one of them`);
      own.add(entry.path);
      const before = found.get(entry.path);
      if (before && (before.kind === 'directory') !== (entry.kind === 'directory'))
        throw refused(entry, `it is a ${entry.kind}, and ${before.from} is a ${before.kind}; give them the same kind`);
      found.set(entry.path, entry);
    }
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Whether nobody else can put something in the place of what lies in the directory. In one like /tmp, others cannot rename what is root's. */
async function isRootsAlone(directory: string): Promise<boolean> {
  const { uid, mode } = await lstat(directory).catch(unreadable(directory));
  if (uid !== 0 || ((mode & 0o022) !== 0 && (mode & 0o1000) === 0)) return false;
  const above = dirname(directory);
  return above === directory || isRootsAlone(above);
}

/** What not everybody on the node can read, and so is nothing for everybody who may look at the node. */
export function barredEntries(entries: readonly OverlayEntry[]): ReadonlySet<OverlayEntry> {
  const barred = new Set<OverlayEntry>();
  const directories = new Set<string>();
  // Directories come before what is in them.
  for (const entry of entries) {
    const { kind, mode, path } = entry;
    const isBarred = kind === 'directory' ? (mode & 0o001) === 0 : kind === 'file' && (mode & 0o004) === 0;
    if (!isBarred && !directories.has(dirname(path))) continue;
    barred.add(entry);
    if (kind === 'directory') directories.add(path);
  }
  return barred;
}

interface Directory {
  readonly from: Buffer;
  readonly path: string;
  readonly isRoots: boolean;
}

async function* entriesBelow(
  source: OverlaySource,
  { from: directory, path: above, isRoots }: Directory,
  budget: { entries: number; bytes: number },
): AsyncIterable<OverlayEntry> {
  const names = await readRealDirectory(directory).catch(unreadable(directory.toString()));
  for (const bytes of names.sort(Buffer.compare)) {
    const from = Buffer.concat([directory, Buffer.from('/'), bytes]);
    const name = nameOf(bytes, from);
    const found = await entryAt(source, from.toString(), `${above}/${name}`);
    const entry = { ...found, isRoots: isRoots && found.uid === 0 && (found.mode & 0o022) === 0 };
    budget.entries++;
    budget.bytes += entry.content.length;
    if (budget.entries > bounds.entries || budget.bytes > bounds.bytes)
      throw refused(
        entry,
        `the overlays of a node have at most ${bounds.entries} files with ${bounds.bytes} bytes together; put what is large into the image`,
      );
    yield entry;
    if (entry.kind === 'directory')
      yield* entriesBelow(source, { from, path: entry.path, isRoots: entry.isRoots }, budget);
  }
}

// oxlint-disable-next-line no-control-regex -- they are what is looked for
const controls = /[\x00-\x1f\x7f]/;

/** Names travel in lines, with blanks between the words before them. */
function nameOf(bytes: Buffer, from: Buffer): string {
  const name = bytes.toString();
  if (isUtf8(bytes) && !controls.test(name) && !/^ | $/.test(name)) return name;
  throw new Fault(
    'invalid',
    `${JSON.stringify(from.toString())} cannot be part of an overlay: its name begins or ends with a blank, has a control character or is not UTF-8. Rename it.`,
  );
}

async function entryAt(
  { name: overlay }: OverlaySource,
  from: string,
  place: string,
): Promise<Omit<OverlayEntry, 'isRoots'>> {
  const stats = await lstat(from).catch(unreadable(from));
  const kind = stats.isFile()
    ? 'file'
    : stats.isDirectory()
      ? 'directory'
      : stats.isSymbolicLink()
        ? 'link'
        : undefined;
  if (kind === undefined) throw refused({ from }, 'it is neither a file nor a directory nor a link');
  if (kind === 'directory' && basename(from) === privateName)
    throw refused({ from }, 'it has the tree of an image; name a directory without images');
  const isTemplate = kind === 'file' && place.endsWith(ending) && !place.endsWith(`/${ending}`);
  const path = isTemplate ? place.slice(0, -ending.length) : place;
  if (path.endsWith(' ')) throw refused({ from }, `its name ends with a blank before ${ending}; rename it`);
  if (taken.some((top) => path.startsWith(`${top}/`)))
    throw refused({ from }, `what is in ${taken.join(', ')} is made again at each boot`);
  const { content, mode, uid, gid } = await readAt(kind, from, stats);
  return { kind, path, from, content, mode: mode & 0o7777, uid, gid, isTemplate, overlay };
}

type Read = Pick<Stats, 'mode' | 'uid' | 'gid'> & { readonly content: Buffer };

async function readAt(kind: OverlayEntry['kind'], from: string, stats: Stats): Promise<Read> {
  const { mode, uid, gid } = stats;
  if (kind === 'directory') return { mode, uid, gid, content: Buffer.alloc(0) };
  if (kind === 'file') return readFileAt(from);
  const content = await readlink(from, 'buffer').catch(unreadable(from));
  if (controls.test(content.toString()))
    throw refused({ from }, 'it leads to a name with a control character; make it lead elsewhere');
  return { mode, uid, gid, content };
}

/** Mode, owner and content of one and the same file, whole: nodes replace theirs by it. */
async function readFileAt(from: string): Promise<Read> {
  const file = await openReal(from).catch(unreadable(from));
  try {
    const before = await file.stat();
    if (!before.isFile()) throw refused({ from }, 'it was replaced just now; try again');
    if (before.size > bounds.bytes)
      throw refused({ from }, `it has more than ${bounds.bytes} bytes; put what is large into the image`);
    const content = await firstBytes(file, before.size);
    const { size, mtimeMs, mode, uid, gid } = await file.stat();
    if (size !== content.length || size !== before.size || mtimeMs !== before.mtimeMs)
      throw refused({ from }, 'somebody is writing it just now; try again');
    return { content, mode, uid, gid };
  } finally {
    await file.close();
  }
}

/** No more than that, however fast the file grows. */
async function firstBytes(file: FileHandle, size: number): Promise<Buffer> {
  const content = Buffer.alloc(size);
  let filled = 0;
  while (filled < size) {
    const { bytesRead } = await file.read(content, filled, size - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return content.subarray(0, filled);
}

const refused = ({ from }: { readonly from: string }, why: string): Fault =>
  new Fault('invalid', `${from} cannot be part of an overlay: ${why}.`);

const unreadable =
  (from: string) =>
  (error: unknown): never => {
    throw new Fault('invalid', `${from} cannot be read: ${(error as Error).message}.`, { cause: error });
  };
