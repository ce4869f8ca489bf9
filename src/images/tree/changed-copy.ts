import { lstatSync, readdirSync, rmSync, type Stats, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Work } from '../../work/index.ts';
import { copyTree, linkTree, overlayOn, type Overlaid } from './private-tree.ts';

/**
 * Makes a copy of a tree in which work has been done. The tree stays as it is. Where an overlay can be mounted, the work is done in one
 * and the copy shares all files that it has not touched with the tree: to copy all of them takes half a minute.
 */
export async function changedCopy(
  task: Work,
  { tree, staging, copy }: { readonly tree: string; readonly staging: string; readonly copy: string },
  work: (root: string) => Promise<void>,
): Promise<void> {
  const overlaid = await overlayOn(task, tree, staging, movesCopy);
  if (!overlaid) {
    await copyTree(task, tree, copy);
    return work(copy);
  }
  await work(overlaid.root);
  await linkTree(task, tree, copy);
  await bringChanges(task, overlaid, copy, staging);
}

/** A directory that is moved is copied up, so that all that has changed is in the upper directory. */
const movesCopy = ['redirect_dir=off', 'metacopy=off'];

/** All attributes of files, but not those that the overlay keeps for itself: it hides them from whoever reads through it. */
const whole = ['--numeric-owner', '--acls', '--xattrs', '--xattrs-include=*'];

async function bringChanges(task: Work, { root, upper }: Overlaid, copy: string, staging: string): Promise<void> {
  if (!entry(Buffer.from(upper))) return;
  const changed: Buffer[] = [Buffer.from('.')];
  const places = { upper: Buffer.from(upper), root: Buffer.from(root), copy: Buffer.from(copy) };
  removeChanged(places, Buffer.from('.'), changed);
  const [list, archive] = [join(staging, 'changed-files'), join(staging, 'changed-files.tar')];
  writeFileSync(list, Buffer.concat(changed.flatMap((path) => [path, Buffer.from([0])])));
  const files = [`--directory=${root}`, '--no-recursion', '--null', `--files-from=${list}`];
  await task.program('tar', ['--create', `--file=${archive}`, ...whole, ...files]);
  await task.program('tar', ['--extract', `--file=${archive}`, ...whole, '--same-permissions', `--directory=${copy}`]);
  rmSync(archive);
}

type Places = Readonly<Record<'upper' | 'root' | 'copy', Buffer>>;

/** Takes away from the copy what is gone or has changed, and lists what has changed or is new, directories before what is in them. */
function removeChanged(places: Places, at: Buffer, changed: Buffer[]): void {
  const { upper, root, copy } = places;
  if (entry(below(copy, at)))
    for (const name of readdirSync(below(copy, at), { encoding: 'buffer' }))
      if (!entry(below(root, below(at, name)))) remove(below(copy, below(at, name)));
  for (const name of readdirSync(below(upper, at), { encoding: 'buffer' })) {
    const path = below(at, name);
    const made = entry(below(root, path));
    // The overlay's mark of what is gone.
    if (!made) continue;
    changed.push(path);
    const before = entry(below(copy, path));
    if (before && !(before.isDirectory() && made.isDirectory())) remove(below(copy, path));
    if (made.isDirectory()) removeChanged(places, path, changed);
  }
}

const below = (directory: Buffer, name: Buffer): Buffer => Buffer.concat([directory, Buffer.from('/'), name]);
const entry = (path: Buffer): Stats | undefined => lstatSync(path, { throwIfNoEntry: false });
const remove = (path: Buffer): void => rmSync(path, { recursive: true, force: true });
