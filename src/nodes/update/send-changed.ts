import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { asTheyCome } from '../../core/as-they-come.ts';
import { Fault } from '../../core/errors.ts';
import { quoteWord } from '../../core/shell-words.ts';
import { type RemoteFiles, shown } from '../../protocols/ssh/sftp/files.ts';
import { type Attributes, fileKinds, kindOf } from '../../protocols/ssh/sftp/wire.ts';
import { type CargoItem, makeDirectories, type Placed } from '../remote/cargo.ts';
import type { LocalFiles } from '../remote/local-files.ts';
import { existingDirectories, placeAll, setDirectories } from '../remote/place.ts';
import type { NodeShell } from './node-shell.ts';

/** So many files are worth a command. */
const worthACommand = 64;
const together = 256;
/** Bytes that a node answers for those together: the hash, `  -` and the end of the line. */
const answer = 68;

/**
 * Those files of which a node may not have the size, time, mode and owner they have here. Usually it has all of them, and then a hash of
 * what it says of many is the same as here, which costs far less than their answers one by one. A node without the programs for that
 * may not have any.
 */
async function perhapsChanged<T extends Placed>(
  shell: NodeShell,
  files: readonly T[],
  keepOwner: boolean,
): Promise<readonly T[]> {
  if (files.length < worthACommand) return files;
  const chunks = Array.from({ length: Math.ceil(files.length / together) }, (_, index) =>
    files.slice(index * together, (index + 1) * together),
  );
  const format = keepOwner ? '%f %s %Y %u %g' : '%f %s %Y';
  const command = `xargs -0 -n ${together} sh -c 'stat -c "${format}" "$@" 2> /dev/null | sha256sum' sh`;
  const names = Buffer.concat(files.flatMap(({ path }) => [path, Buffer.alloc(1)]));
  const lines = await shell.ask(command, chunks.length * answer, names);
  const there = lines.flatMap((line) => /^([0-9a-f]{64}) {2}-$/.exec(line)?.[1] ?? []);
  if (there.length !== chunks.length) return files;
  return chunks.filter((chunk, index) => stateOf(chunk, keepOwner) !== there[index]).flat();
}

function stateOf(files: readonly Placed[], keepOwner: boolean): string {
  const line = ({ mode, size, modified, uid, gid }: CargoItem): string =>
    [(fileKinds.regular | mode).toString(16), size, modified, ...(keepOwner ? [uid, gid] : [])].join(' ');
  return createHash('sha256')
    .update(files.map(({ item }) => `${line(item)}\n`).join(''))
    .digest('hex');
}

export interface Sending {
  readonly files: RemoteFiles;
  readonly shell: NodeShell;
  readonly local: LocalFiles;
  readonly signal: AbortSignal;
  /** Files get the owner they have here; only root can give them away. */
  readonly keepOwner: boolean;
}

/** Brings a node's files to the state of those here and answers which had to be sent; `before` hears of them first. */
export async function sendChanged<T extends Placed>(
  sending: Sending,
  placed: readonly T[],
  before: (changed: readonly T[]) => Promise<void> = async () => undefined,
): Promise<T[]> {
  const { files, shell, local, signal, keepOwner } = sending;
  const directories = placed.filter(({ item }) => item.kind === 'directory');
  const existing = await existingDirectories(files, directories);
  const missing = directories.filter(({ key }) => !existing.has(key));
  const early = await makeParents(files, placed, directories, missing);
  const changed = await changedOf(
    sending,
    placed.filter(({ item }) => item.kind !== 'directory'),
    new Set(missing.map(({ key }) => key)),
  );
  await before(changed);
  const attributes = (item: CargoItem): Attributes => attributesOf(sending, item);
  const placing = { node: shell, files, local, signal, base: '/', keepOwner, attributesOf: attributes };
  await placeAll(placing, [...missing.filter((each) => !early.has(each)), ...changed], existing);
  await setDirectories(placing, [...early]);
  return changed;
}

/** Makes the directories that files go into and that have no model here; those with a model that had to be made for it. */
async function makeParents(
  files: RemoteFiles,
  placed: readonly Placed[],
  directories: readonly Placed[],
  missing: readonly Placed[],
): Promise<ReadonlySet<Placed>> {
  const parents = new Set(placed.map(({ key }) => posix.dirname(key)));
  for (const { key } of directories) parents.delete(key);
  const above = new Set<string>();
  for (const parent of parents)
    for (let key = posix.dirname(parent); !above.has(key); key = posix.dirname(key)) above.add(key);
  const early = new Set(missing.filter(({ key }) => above.has(key)));
  for (const { item, path } of early) await makeDirectories(files, path, item.mode | 0o700);
  for (const parent of parents) await makeDirectories(files, Buffer.from(parent, 'latin1'));
  return early;
}

const asksAtOnce = 64;
/** Milliseconds in which a file may change again without getting another time. */
const fresh = 2_000;
/** Bytes of names in one command that computes hashes. */
const longestHashing = 60_000;
/** Bytes that a node answers for one file: the hash, `  -` and the end of the line. */
const hashAnswer = 68;

type State = 'changed' | 'unchanged' | 'compare';

/** What the node has otherwise. Same size and time is unchanged; same size and another time, the hash decides. */
async function changedOf<T extends Placed>(
  sending: Sending,
  placed: readonly T[],
  missing: ReadonlySet<string>,
): Promise<T[]> {
  // Nothing is kept of those that are unchanged: trees may be large and nodes many.
  const changed: T[] = [];
  const unsure: T[] = [];
  const ask = async (each: T): Promise<void> => {
    const state = await look(sending, each);
    if (state !== 'unchanged') (state === 'changed' ? changed : unsure).push(each);
  };
  const files: T[] = [];
  const links: T[] = [];
  for (const each of placed) {
    if (missing.has(posix.dirname(each.key))) changed.push(each);
    else (each.item.kind === 'file' ? files : links).push(each);
  }
  const unknown = await perhapsChanged(sending.shell, files, sending.keepOwner);
  for await (const _ of asTheyCome([...links, ...unknown], asksAtOnce, ask));
  const equal = await withEqualHash(sending, unsure);
  for (const each of equal) await setAll(sending, each);
  return [...changed, ...unsure.filter((each) => !equal.has(each))];
}

async function look(sending: Sending, placed: Placed): Promise<State> {
  const { files, keepOwner } = sending;
  const { item, path } = placed;
  const there = await files.lstat(path);
  const kind = kindOf(there);
  if (kind === fileKinds.directory)
    throw new Fault(
      'invalid',
      `${shown(path)} is a directory on the node and must be a ${item.kind}; remove it there first.`,
    );
  if (item.kind === 'link') {
    return kind === fileKinds.link && (await files.readLink(path)).equals(item.destination!) ? 'unchanged' : 'changed';
  }
  if (there === undefined || kind !== fileKinds.regular || there.size !== item.size) return 'changed';
  if (there.modified !== item.modified) return 'compare';
  const sameOwner = !keepOwner || (there.uid === item.uid && there.gid === item.gid);
  if (!sameOwner || (there.mode! & 0o7777) !== item.mode) await setAll(sending, placed);
  return 'unchanged';
}

async function setAll(sending: Sending, { item, path }: Placed): Promise<void> {
  await sending.files.setAttributes(path, attributesOf(sending, item));
  if (sending.keepOwner) await sending.files.setAttributes(path, { mode: item.mode });
}

/** Times are whole seconds: a file that changes right now gets another time there, so that the hash decides next time. */
function attributesOf({ keepOwner }: Sending, { mode, accessed, modified, uid, gid }: CargoItem): Attributes {
  const isFresh = Date.now() - modified * 1_000 < fresh;
  return { mode, accessed, modified: isFresh ? modified - 1 : modified, ...(keepOwner ? { uid, gid } : {}) };
}

/** Those whose content is the same on the node. */
async function withEqualHash({ shell, local }: Sending, unsure: readonly Placed[]): Promise<Set<Placed>> {
  const equal = new Set<Placed>();
  for (const batch of batches(unsure)) {
    const words = batch.map(({ path }) => quoteWord(path.toString())).join(' ');
    const command = `for f in ${words}; do sha256sum < "$f" || echo -; done`;
    const lines = await shell.ask(command, batch.length * hashAnswer);
    // A node without sha256sum says nothing of use, and then all is sent.
    const there = lines.flatMap((line) => /^(-|[0-9a-f]{64} {2}-)$/.exec(line)?.[0].slice(0, 64) ?? []);
    if (there.length !== batch.length) continue;
    for (const [index, each] of batch.entries())
      if ((await local.hash(each.item.from)) === there[index]) equal.add(each);
  }
  return equal;
}

/** Names that are no UTF-8 cannot be put into a command: such files are sent. */
function* batches(unsure: readonly Placed[]): Iterable<Placed[]> {
  let batch: Placed[] = [];
  let length = 0;
  for (const each of unsure) {
    if (!Buffer.from(each.path.toString()).equals(each.path)) continue;
    const size = Buffer.byteLength(quoteWord(each.path.toString())) + 1;
    if (length + size > longestHashing) {
      yield batch;
      batch = [];
      length = 0;
    }
    batch.push(each);
    length += size;
  }
  if (batch.length > 0) yield batch;
}
