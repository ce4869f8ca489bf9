import { lstatSync, readdirSync, rmdirSync, unlinkSync, utimesSync } from 'node:fs';
import { Fault } from '../../core/errors.ts';

/** A pattern for whole paths as `find -path` takes them: `*` is any text, slashes too, `?` a character, `[a-z]` one of these. */
type PathPattern = readonly Piece[];

type Piece =
  | { readonly kind: 'any' }
  | { readonly kind: 'one' }
  | { readonly kind: 'is'; readonly character: string }
  | { readonly kind: 'set'; readonly not: boolean; readonly ranges: readonly (readonly [string, string])[] };

function parsePattern(text: string): PathPattern {
  const pieces: Piece[] = [];
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    const end = character === '[' ? text.indexOf(']', at + 2) : -1;
    if (character === '*') {
      if (pieces.at(-1)?.kind !== 'any') pieces.push({ kind: 'any' });
    } else if (character === '?') pieces.push({ kind: 'one' });
    else if (end > 0) {
      pieces.push(parseSet(text.slice(at + 1, end)));
      at = end;
    } else if (character === '\\' && at + 1 < text.length) pieces.push({ kind: 'is', character: text[++at]! });
    else pieces.push({ kind: 'is', character });
  }
  return pieces;
}

function parseSet(text: string): Piece {
  const not = text.startsWith('!') || text.startsWith('^');
  const inside = not ? text.slice(1) : text;
  const ranges: [string, string][] = [];
  for (let at = 0; at < inside.length; at++) {
    const from = inside[at]!;
    const isRange = inside[at + 1] === '-' && at + 2 < inside.length;
    ranges.push([from, isRange ? inside[at + 2]! : from]);
    if (isRange) at += 2;
  }
  return { kind: 'set', not, ranges };
}

/** Goes back to the last star only, so it takes no more than length times length. */
function matchesPattern(pattern: PathPattern, path: string): boolean {
  let [at, next, star, resume] = [0, 0, -1, 0];
  while (at < path.length) {
    const piece = pattern[next];
    if (piece?.kind === 'any') {
      star = next++;
      resume = at;
    } else if (piece && fits(piece, path[at]!)) {
      next++;
      at++;
    } else if (star >= 0) {
      next = star + 1;
      at = ++resume;
    } else return false;
  }
  while (pattern[next]?.kind === 'any') next++;
  return next === pattern.length;
}

function fits(piece: Piece, character: string): boolean {
  if (piece.kind === 'is') return piece.character === character;
  if (piece.kind === 'set')
    return piece.ranges.some(([from, to]) => character >= from && character <= to) !== piece.not;
  return true;
}

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
