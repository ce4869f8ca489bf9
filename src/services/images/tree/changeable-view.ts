import { mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Work } from '../../long-work/work.ts';
import { linkTree } from './copy-tree.ts';

/**
 * A tree in which files may be removed and replaced, never written to, while the original stays as it is. It goes with the run and its
 * staging. An overlay costs nothing, however many files there are. Where none can be mounted, it is a copy of hard links.
 */
export async function changeableView(task: Work, tree: string, staging: string): Promise<string> {
  return (await overlay(task, tree, staging)) ?? (await links(task, tree, staging));
}

/** What the list of a mount's options takes as it is. */
const plainPath = /^[\w./+@-]+$/;
/** Of mount: it could not be mounted, say because the file system is none that an overlay can be on. */
const failures = [0, 1, 32];

async function overlay(task: Work, tree: string, staging: string): Promise<string | undefined> {
  // Others would see the mount, and it would outlive this process.
  if (!task.hasOwnMounts || !plainPath.test(tree) || !plainPath.test(staging)) return undefined;
  const [view, upper, work] = ['view', 'changes', 'changing'].map((name) => join(staging, name)) as [
    string,
    string,
    string,
  ];
  for (const directory of [view, upper, work]) await mkdir(directory, { mode: 0o755 });
  // Of the directory above the tree: the top of an overlay has owner, times and attributes of its own.
  const options = `lowerdir=${dirname(tree)},upperdir=${upper},workdir=${work}`;
  const { code } = await task.program('mount', ['-t', 'overlay', '-o', options, 'overlay', view], {
    expect: failures,
    // Why not is nothing that whoever watches could mend or has to.
    output: () => undefined,
  });
  return code === 0 ? join(view, basename(tree)) : undefined;
}

async function links(task: Work, tree: string, staging: string): Promise<string> {
  const root = join(staging, 'root');
  await linkTree(task, tree, root);
  return root;
}
