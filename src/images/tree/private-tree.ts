import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { checkSafeDirectory } from '../../core/files.ts';
import type { Work } from '../../work/index.ts';
import { entryOf } from '../image-job.ts';
import { privateName, treeName } from '../manifest.ts';
import { checkStillReal } from '../real-paths.ts';

/** A copy in which programs may write: blocks are shared where the file system can, else copied. */
export async function copyTree(task: Work, from: string, to: string): Promise<void> {
  await task.program('cp', ['-a', '--reflink=auto', '--', from, to]);
}

/** A copy that shares its files with the original. Its files may be removed and replaced, never written to. */
export async function linkTree(task: Work, from: string, to: string): Promise<void> {
  await task.program('cp', ['-al', '--', from, to]);
}

/**
 * A tree in which files may be removed and replaced, never written to, while the original stays as it is. It goes with the run and its
 * staging. An overlay costs nothing, however many files there are. Where none can be mounted, it is a copy of hard links.
 */
export async function changeableView(task: Work, tree: string, staging: string): Promise<string> {
  return (await overlayOn(task, tree, staging))?.root ?? (await links(task, tree, staging));
}

/** A tree as it is seen through an overlay, and the directory of what changes in it; that exists when something has changed. */
export interface Overlaid {
  readonly root: string;
  readonly upper: string;
}

/** What the list of a mount's options takes as it is. */
const plainPath = /^[\w./+@-]+$/;
/** Of mount: it could not be mounted, say because the file system is none that an overlay can be on. */
const failures = [0, 1, 32];

/** Undefined: none can be mounted here. */
export async function overlayOn(
  task: Work,
  tree: string,
  staging: string,
  more: readonly string[] = [],
): Promise<Overlaid | undefined> {
  // Others would see the mount, and it would outlive this process.
  if (!task.hasOwnMounts || !plainPath.test(tree) || !plainPath.test(staging)) return undefined;
  const [view, upper, work] = ['view', 'changes', 'changing'].map((name) => join(staging, name)) as [
    string,
    string,
    string,
  ];
  for (const directory of [view, upper, work]) await mkdir(directory, { mode: 0o755 });
  // Of the directory above the tree: the top of an overlay has owner, times and attributes of its own.
  const options = [`lowerdir=${dirname(tree)}`, `upperdir=${upper}`, `workdir=${work}`, ...more].join(',');
  const { code } = await task.program('mount', ['-t', 'overlay', '-o', options, 'overlay', view], {
    expect: failures,
    // Why not is nothing that whoever watches could mend or has to.
    output: () => undefined,
  });
  return code === 0 ? { root: join(view, basename(tree)), upper: join(upper, basename(tree)) } : undefined;
}

async function links(task: Work, tree: string, staging: string): Promise<string> {
  const root = join(staging, 'root');
  await linkTree(task, tree, root);
  return root;
}

/** What the usual name of a tree is a link to. Both move with the image's directory. */
const target = `${privateName}/${treeName}`;

/** Prepares a directory that is going to be an image's. Returns where its tree is to be made. */
export function placeForTree(directory: string): string {
  closePrivate(directory);
  symlinkSync(target, join(directory, treeName));
  return join(directory, target);
}

/**
 * The tree in an image's directory; undefined if there is none. One that every user of this machine can reach, as an older muster or an
 * administrator left it, is moved to where only root can.
 */
export async function privateTree(directory: string, say: (line: string) => void): Promise<string | undefined> {
  checkStillReal(directory);
  checkSafeDirectory(directory);
  const named = join(directory, treeName);
  const inside = join(directory, target);
  const entry = entryOf(named);
  if (!entry) return undefined;
  if (entry.isSymbolicLink() && readlinkSync(named) === target) {
    closePrivate(directory);
    return entryOf(inside)?.isDirectory() ? inside : undefined;
  }
  if (!entry.isDirectory())
    throw new Fault('invalid', `${named} is neither a directory nor muster's own link to ${target}; move it away.`);
  await moveIn(directory, named, inside);
  say(`${named} lies in ${join(directory, privateName)} now, which only root can enter; its name is a link to it.`);
  return inside;
}

/** Puts the tree of `made`, a directory that was prepared, into an image's directory. What was there is in `made` afterwards. */
export async function replaceTree(made: string, directory: string): Promise<void> {
  const [ours, theirs] = [join(made, privateName), join(directory, privateName)];
  if (entryOf(theirs)) (await loadExchange())(ours, theirs);
  else renameSync(ours, theirs);
  renameSync(join(made, treeName), join(directory, treeName));
}

/** The tree and the link change places in one step, so that nobody finds the tree missing. */
async function moveIn(directory: string, named: string, inside: string): Promise<void> {
  closePrivate(directory);
  if (entryOf(inside)?.isDirectory())
    throw new Fault('invalid', `There are two trees, ${named} and ${inside}; move away the one that you do not need.`);
  const exchange = await loadExchange();
  // A run that was killed may have left one.
  rmSync(inside, { force: true });
  symlinkSync(target, inside);
  try {
    exchange(inside, named);
  } catch (error) {
    throw new Fault(
      'invalid',
      `${named} cannot be moved into ${join(directory, privateName)}, so every user of this machine can run what is in it: ${(error as Error).message}. If it is a mount point, unmount it and copy the tree to its place.`,
      { cause: error },
    );
  }
}

/** Whatever a umask, an access control list or a person made of it. */
function closePrivate(directory: string): void {
  const place = join(directory, privateName);
  if (!entryOf(place)) mkdirSync(place, { mode: 0o700 });
  const fd = openDirectory(place);
  try {
    fchownSync(fd, process.geteuid!(), process.getegid!());
    fchmodSync(fd, 0o700);
  } finally {
    closeSync(fd);
  }
}

function openDirectory(place: string): number {
  try {
    return openSync(place, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    throw new Fault('invalid', `${place} must be a directory, since the tree of the image lies in it; move it away.`, {
      cause: error,
    });
  }
}

/** What it loads takes a while, and most trees are where they belong. */
const loadExchange = async () => (await import('../../core/exchange.ts')).exchange;
