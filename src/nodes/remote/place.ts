import { posix } from 'node:path';
import { asTheyCome } from '../../core/as-they-come.ts';
import { Fault } from '../../core/errors.ts';
import { commandLine } from '../../core/shell-words.ts';
import { CollectedOutput } from '../../protocols/ssh/collected.ts';
import { abortFault } from '../../protocols/ssh/faults.ts';
import { type RemoteFiles, shown } from '../../protocols/ssh/sftp/files.ts';
import { putFile } from '../../protocols/ssh/sftp/put.ts';
import { SftpRefusal } from '../../protocols/ssh/sftp/session.ts';
import { madeAt } from '../../protocols/ssh/sftp/temporary-names.ts';
import { type Attributes, fileKinds, kindOf } from '../../protocols/ssh/sftp/wire.ts';
import {
  type Cargo,
  type CargoItem,
  isDirectory,
  join,
  makeDirectories,
  parentOf,
  pathKey,
  type Placed,
  putLink,
} from './cargo.ts';
import type { LocalFiles } from './local-files.ts';
import type { RemoteNode } from './remote-nodes.ts';
import { unpack } from './unpack.ts';

/** Milliseconds after which a copy is over, whatever became of it. */
const longestCopy = 24 * 60 * 60 * 1_000;
const removalsAtOnce = 16;
/** Names of a directory that are looked at; one may have millions. */
const maximumNames = 10_000;

interface Sweeping {
  readonly node: Pick<RemoteNode, 'exec'>;
  readonly files: RemoteFiles;
  readonly signal: AbortSignal;
}

/** Removes what copies that were killed have left in the directories that these paths are in. */
async function removeLeftovers({ node, files, signal }: Sweeping, paths: Iterable<Buffer>): Promise<void> {
  const directories = new Map<string, Buffer>();
  for (const path of paths) {
    const parent = parentOf(path);
    directories.set(parent.toString('latin1'), parent);
  }
  const trees: string[] = [];
  const sweep = async (directory: Buffer): Promise<void> => {
    for (const { name, attributes } of await files.list(directory, maximumNames)) {
      const made = madeAt(name.toString('latin1'));
      if (made === undefined || made > Date.now() - longestCopy) continue;
      const path = join(directory, name);
      if (kindOf(attributes) !== fileKinds.directory) await files.remove(path).catch(mayStay);
      // A command can name only what is UTF-8; trees are unpacked nowhere else.
      else if (Buffer.from(path.toString()).equals(path)) trees.push(path.toString());
    }
  };
  for await (const _ of asTheyCome([...directories.values()], removalsAtOnce, (each) => sweep(each).catch(mayStay)));
  if (trees.length === 0) return;
  const command = `exec ${commandLine(['rm', '-rf', '--', ...trees])}`;
  await node.exec(command, new CollectedOutput(0), { commandTimeout: 0, signal });
}

/** Who may not list a directory or remove from it can still be one who may write files that are there. */
function mayStay(error: unknown): void {
  if (!(error instanceof SftpRefusal)) throw error;
}

/** The ways to put files on a node, and how. */
interface Placing {
  readonly node: Pick<RemoteNode, 'exec'>;
  readonly files: RemoteFiles;
  readonly local: LocalFiles;
  readonly signal: AbortSignal;
  /** The directory there that all go to; their keys begin in it. */
  readonly base: string;
  /** Files get the owner they have here; only root can give them away. */
  readonly keepOwner: boolean;
  /** What an item gets. */
  readonly attributesOf: (item: CargoItem) => Attributes;
}

/** So many files are worth a second connection and a program there. */
const worthAnArchive = 16;
const sendsAtOnce = 16;
const asksAtOnce = 64;

/** The keys of those directories that the node has already. */
export async function existingDirectories(files: RemoteFiles, placed: readonly Placed[]): Promise<Set<string>> {
  const existing = new Set<string>();
  const missing = new Set<string>();
  const look = async ({ path, key }: Placed): Promise<void> => {
    const there = await files.stat(path);
    if (there === undefined) missing.add(key);
    else if (kindOf(there) === fileKinds.directory) existing.add(key);
    else
      throw new Fault(
        'invalid',
        `${shown(path)} must be a directory on the node and is not one; remove it there first.`,
      );
  };
  for (const level of byDepth(placed.filter(({ item }) => item.kind === 'directory'))) {
    // Of what is missing nothing is asked.
    const unsure: Placed[] = [];
    for (const each of level) {
      if (missing.has(posix.dirname(each.key))) missing.add(each.key);
      else unsure.push(each);
    }
    for await (const _ of asTheyCome(unsure, asksAtOnce, look));
  }
  return existing;
}

function byDepth(directories: readonly Placed[]): Placed[][] {
  const levels: Placed[][] = [];
  for (const each of directories) (levels[each.key.split('/').length] ??= []).push(each);
  return levels.filter((level) => level !== undefined);
}

/**
 * Puts files, links and directories on a node, the latter before what is in them. `existing` has the keys of directories that are there;
 * they stay as they are. Each file appears complete or not at all. Many travel as one archive, where the node can unpack it.
 */
export async function placeAll(
  placing: Placing,
  placed: readonly Placed[],
  existing: ReadonlySet<string>,
): Promise<void> {
  await removeLeftovers(placing, besideOthers(placed, existing));
  const files = placed.reduce((sum, { item }) => (item.kind === 'directory' ? sum : sum + 1), 0);
  if (files >= worthAnArchive && (await asArchive(placing, placed, existing))) return;
  await oneByOne(placing, placed, existing);
}

/** The paths whose directories were there before. */
function besideOthers(placed: readonly Placed[], existing: ReadonlySet<string>): Buffer[] {
  const news = placed.filter(({ item, key }) => item.kind !== 'directory' || !existing.has(key));
  const made = new Set(news.filter(({ item }) => item.kind === 'directory').map(({ key }) => key));
  return news.filter(({ key }) => !made.has(posix.dirname(key))).map(({ path }) => path);
}

async function asArchive(
  { node, local, base, keepOwner, signal, attributesOf }: Placing,
  placed: readonly Placed[],
  existing: ReadonlySet<string>,
): Promise<boolean> {
  if (signal.aborted) throw abortFault(signal);
  return local.withArchive({ placed, existing, attributesOf }, async (archive) => {
    if (!archive) return false;
    // A command can name only what is UTF-8.
    if (!Buffer.from(archive.control.toString()).equals(archive.control)) return false;
    return unpack(node, archive, { base, keepOwner, signal });
  });
}

async function oneByOne(placing: Placing, placed: readonly Placed[], existing: ReadonlySet<string>): Promise<void> {
  const { files, local, signal, keepOwner, attributesOf } = placing;
  const directories = placed.filter(({ item, key }) => item.kind === 'directory' && !existing.has(key));
  for (const { item, path } of directories) {
    if (signal.aborted) throw abortFault(signal);
    await makeDirectories(files, path, item.mode | 0o700);
  }
  const send = async ({ item, path }: Placed): Promise<void> => {
    if (signal.aborted) throw abortFault(signal);
    if (item.kind === 'link') await putLink(files, path, item.destination!);
    else await local.use(item.from, (source) => putFile(files, source, path, signal, attributesOf(item)));
    // Giving a file away takes these bits off.
    if (item.kind === 'file' && keepOwner && (item.mode & 0o6000) !== 0)
      await files.setAttributes(path, { mode: item.mode });
  };
  const others = placed.filter(({ item }) => item.kind !== 'directory');
  for await (const _ of asTheyCome(others, sendsAtOnce, send));
  await setDirectories(placing, directories);
}

/** What is put into a directory changes its time, and it may not be writable in the end: the inner ones first. */
export async function setDirectories({ files, attributesOf }: Placing, directories: readonly Placed[]): Promise<void> {
  const set = ({ item, path }: Placed): Promise<void> => files.setAttributes(path, attributesOf(item));
  for (const level of byDepth(directories).reverse()) for await (const _ of asTheyCome(level, asksAtOnce, set));
}

const attributesOf = ({ mode, accessed, modified }: CargoItem): Attributes => ({ mode, accessed, modified });

/**
 * Puts cargo on a node. A target that is a directory, ends with a slash, or gets more than a single file is a directory, which is
 * made if it is missing; else it is the file's new name. Each file appears complete or not at all.
 */
export async function deliver(
  ways: Omit<Placing, 'base' | 'keepOwner' | 'attributesOf'>,
  cargo: Cargo,
  target: string,
): Promise<void> {
  const { files, local, signal } = ways;
  const there = Buffer.from(target);
  const [single] = cargo.items;
  if (
    cargo.items.length === 1 &&
    single!.kind === 'file' &&
    !target.endsWith('/') &&
    !(await isDirectory(files, there))
  ) {
    await removeLeftovers(ways, [there]);
    await local.use(single!.from, (source) => putFile(files, source, there, signal, attributesOf(single!)));
    return;
  }
  await makeDirectories(files, there);
  const placed = placedIn(cargo, there);
  const placing: Placing = {
    ...ways,
    base: target,
    keepOwner: false,
    attributesOf,
  };
  const existing = await existingDirectories(files, placed);
  await placeAll(placing, placed, existing);
  await setDirectories(
    placing,
    placed.filter(({ key }) => existing.has(key)),
  );
}

/** The nodes at work share it. */
const placedByCargo = new WeakMap<Cargo, readonly Placed[]>();

function placedIn(cargo: Cargo, there: Buffer): readonly Placed[] {
  let placed = placedByCargo.get(cargo);
  if (!placed) {
    placed = cargo.items.map((item) => ({ item, path: join(there, item.name), key: pathKey(item.name) }));
    placedByCargo.set(cargo, placed);
  }
  return placed;
}
