import type { Work } from '../../long-work/work.ts';

/** A copy in which programs may write: blocks are shared where the file system can, else copied. */
export async function copyTree(task: Work, from: string, to: string): Promise<void> {
  await task.program('cp', ['-a', '--reflink=auto', '--', from, to]);
}

/** A copy that shares its files with the original. Its files may be removed and replaced, never written to. */
export async function linkTree(task: Work, from: string, to: string): Promise<void> {
  await task.program('cp', ['-al', '--', from, to]);
}
