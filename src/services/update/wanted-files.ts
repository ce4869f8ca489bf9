import { existsSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join as joinPath } from 'node:path';
import { type CargoItem, type CargoRoot, join } from '../remote/cargo.ts';
import type { LocalFiles } from '../remote/local-files.ts';
import { hasWildcard } from './synclist.ts';
import { reading } from './telling.ts';

/** One source of a rule with all that is in it. The names of its items begin with the name of the source. */
export interface WantedTree {
  /** As the list names it, wildcards replaced. */
  readonly path: string;
  readonly items: readonly CargoItem[];
}

/** Looks at a file or directory here with all that is in it. */
export async function wantedTree(files: LocalFiles, root: CargoRoot): Promise<WantedTree> {
  const { items } = await files.cargo([root]);
  return { path: root.path, items };
}

/** The path of an item on the node when its source is called `destination` there. */
export function pathOnNode(item: CargoItem, destination: Buffer): Buffer {
  const mark = item.name.indexOf('/');
  return mark < 0 ? destination : join(destination, item.name.subarray(mark + 1));
}

/** What an item is called in the list. */
export const sourceOf = (tree: WantedTree, item: CargoItem): string =>
  pathOnNode(item, Buffer.from(tree.path)).toString();

/** What a path with `*` and `?` means, sorted; they match no dot at the beginning. `admit` refuses directories. */
export async function expandWildcards(path: string, admit: (directory: string) => unknown): Promise<string[]> {
  if (!hasWildcard(path)) return [path];
  const [parent, pattern] = [dirname(path), basename(path)];
  const parents = await expandWildcards(parent, admit);
  const found: string[] = [];
  for (const directory of hasWildcard(parent) ? parents.filter(isDirectory) : parents) {
    admit(directory);
    if (hasWildcard(pattern)) {
      const names = await reading(directory, readdir(directory));
      const visible = names.filter((name) => !name.startsWith('.') || pattern.startsWith('.'));
      found.push(...visible.filter((name) => matches(name, pattern)).map((name) => joinPath(directory, name)));
    } else if (existsSync(joinPath(directory, pattern))) found.push(joinPath(directory, pattern));
  }
  return found.sort();
}

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** `*` any text, `?` any character. Goes back to the last star only, so it takes no more than length times length. */
export function matches(name: string, pattern: string): boolean {
  let at = 0;
  let next = 0;
  let star = -1;
  let resume = 0;
  while (at < name.length) {
    if (pattern[next] === '*') {
      star = next++;
      resume = at;
    } else if (next < pattern.length && (pattern[next] === '?' || pattern[next] === name[at])) {
      next++;
      at++;
    } else if (star >= 0) {
      next = star + 1;
      at = ++resume;
    } else return false;
  }
  while (pattern[next] === '*') next++;
  return next === pattern.length;
}
