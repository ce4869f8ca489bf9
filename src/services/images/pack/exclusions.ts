import { lstatSync, readdirSync, rmdirSync, unlinkSync, utimesSync } from 'node:fs';
import { Fault } from '../../../core/errors.ts';
import { matchesPattern, parsePattern, type PathPattern } from './path-pattern.ts';

/** What stays out of a packed image, and what of it goes in all the same. */
export interface Exclusions {
  readonly out: readonly string[];
  readonly kept: readonly string[];
}

type Reader = (path: string) => Promise<string>;

const include = /^#INCLUDE:\s*(.+?)\s*#$/;
const deepest = 8;

/** Reads the lists of `exlist` and what they include. `-` before a pattern, or nothing, leaves out; `+` takes in again. */
export async function readExclusions(paths: readonly string[], read: Reader): Promise<Exclusions> {
  const found = { out: [] as string[], kept: [] as string[] };
  for (const path of paths) await readInto(found, path, read, []);
  return found;
}

async function readInto(
  found: { out: string[]; kept: string[] },
  path: string,
  read: Reader,
  above: readonly string[],
): Promise<void> {
  if (above.includes(path) || above.length > deepest)
    throw new Fault('invalid', `${above.at(-1)} includes ${path}, which includes it again.`);
  for (const raw of (await read(path)).split('\n')) {
    const line = raw.trim();
    const included = include.exec(line)?.[1];
    if (included !== undefined) {
      const full = included.startsWith('/') ? included : `${path.slice(0, path.lastIndexOf('/') + 1)}${included}`;
      await readInto(found, full, read, [...above, path]);
    } else if (line !== '' && !line.startsWith('#')) {
      const pattern = line.replace(/^[+-]\s*/, '');
      (line.startsWith('+') ? found.kept : found.out).push(`./${pattern.replace(/^\.?\/+/, '')}`);
    }
  }
}

/** Removes from a tree what the exclusions leave out; a directory stays as long as anything in it does. How many entries went. */
export function exclude(tree: string, { out, kept }: Exclusions): number {
  if (out.length === 0) return 0;
  // Names need not be UTF-8; as latin1 every byte is a character.
  const patterns = (texts: readonly string[]): PathPattern[] =>
    texts.map((text) => parsePattern(Buffer.from(text).toString('latin1')));
  const [outPatterns, keptPatterns] = [patterns(out), patterns(kept)];
  const goes = (path: string): boolean =>
    outPatterns.some((pattern) => matchesPattern(pattern, path)) &&
    !keptPatterns.some((pattern) => matchesPattern(pattern, path));
  let count = 0;
  /** Whether the directory is empty now. */
  const visit = (directory: Buffer, path: string): boolean => {
    const before = lstatSync(directory);
    let [left, changed] = [0, false];
    for (const entry of readdirSync(directory, { withFileTypes: true, encoding: 'buffer' })) {
      const here = Buffer.concat([directory, slash, entry.name]);
      const name = `${path}/${entry.name.toString('latin1')}`;
      const isEmpty = !entry.isDirectory() || visit(here, name);
      if (!isEmpty || !goes(name)) {
        left++;
        continue;
      }
      if (entry.isDirectory()) rmdirSync(here);
      else unlinkSync(here);
      changed = true;
      count++;
    }
    if (changed) utimesSync(directory, before.atime, before.mtime);
    return left === 0;
  };
  visit(Buffer.from(tree), '.');
  return count;
}

const slash = Buffer.from('/');
