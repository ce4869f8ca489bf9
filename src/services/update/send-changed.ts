import { asTheyCome } from '../../core/as-they-come.ts';
import { Fault } from '../../core/errors.ts';
import { abortFault } from '../../protocols/ssh/faults.ts';
import { type RemoteFiles, shown } from '../../protocols/ssh/sftp/files.ts';
import { putFile } from '../../protocols/ssh/sftp/put.ts';
import { fileKinds, kindOf } from '../../protocols/ssh/sftp/wire.ts';
import type { CargoItem } from '../remote/cargo.ts';
import { makeDirectories, putLink } from '../remote/deliver.ts';
import type { LocalFiles } from '../remote/local-files.ts';
import { attributesOf, changedOf } from './compare-files.ts';
import type { NodeShell } from './node-shell.ts';

/** An item and its path on the node. */
export interface Placed {
  readonly item: CargoItem;
  readonly path: Buffer;
}

export interface Sending {
  readonly files: RemoteFiles;
  readonly shell: NodeShell;
  readonly local: LocalFiles;
  readonly signal: AbortSignal;
  /** Files get the owner they have here; only root can give them away. */
  readonly keepOwner: boolean;
}

/** Files that are on their way to a node at once. */
const sendsAtOnce = 8;

/** Brings a node's files to the state of those here and answers which had to be sent; `before` hears of them first. */
export async function sendChanged<T extends Placed>(
  sending: Sending,
  placed: readonly T[],
  before: (changed: readonly T[]) => Promise<void> = async () => undefined,
): Promise<T[]> {
  const { files, local, signal } = sending;
  const made = await makeAllDirectories(files, placed);
  const changed = await changedOf(
    sending,
    placed.filter(({ item }) => item.kind !== 'directory'),
  );
  await before(changed);
  const send = async ({ item, path }: Placed): Promise<void> => {
    if (signal.aborted) throw abortFault(signal);
    if (item.kind === 'link') await putLink(files, path, item.destination!);
    else await local.use(item.from, (source) => putFile(files, source, path, signal, attributesOf(sending, item)));
    // Giving a file away takes these bits off.
    if (item.kind === 'file' && sending.keepOwner && (item.mode & 0o6000) !== 0)
      await files.setAttributes(path, { mode: item.mode });
  };
  for await (const _ of asTheyCome(changed, sendsAtOnce, send));
  // What is put into a directory changes its time, and it may not be writable in the end.
  for (const { item, path } of made.reverse()) await files.setAttributes(path, attributesOf(sending, item));
  return changed;
}

/** Makes the directories that are missing; those of them that have a model here. Others stay as they are. */
async function makeAllDirectories(files: RemoteFiles, placed: readonly Placed[]): Promise<Placed[]> {
  const made: Placed[] = [];
  const parents = new Set<string>();
  for (const each of placed) {
    const { item, path } = each;
    const parent = path.subarray(0, Math.max(1, path.lastIndexOf('/')));
    const name = parent.toString('latin1');
    if (!parents.has(name)) await makeDirectories(files, parent);
    parents.add(name);
    if (item.kind !== 'directory') continue;
    const there = await files.stat(path);
    if (kindOf(there) === fileKinds.directory) continue;
    if (there)
      throw new Fault('invalid', `${shown(path)} is no directory there and has to be one; take it away first.`);
    await makeDirectories(files, path, item.mode | 0o700);
    made.push(each);
  }
  return made;
}
