import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export const checkout = join(import.meta.dirname, '../..');

const texts = new Map<string, string>();

export function textOf(file: string): string {
  const known = texts.get(file);
  if (known !== undefined) return known;
  const text = readFileSync(join(checkout, file), 'utf8');
  texts.set(file, text);
  return text;
}

const direct = new Map<string, readonly string[]>();

/** The files of this checkout that a file imports, but those of which it takes only types. Paths begin at the checkout. */
function importsOf(file: string): readonly string[] {
  const known = direct.get(file);
  if (known) return known;
  const found = [
    ...textOf(file).matchAll(
      /^(?:import|export)\s(?!type\b)[^;]*?from '(\.{1,2}\/[^']+\.tsx?)'|\bimport\('(\.{1,2}\/[^']+\.tsx?)'\)/gm,
    ),
  ].map(([, path, later]) => relative(checkout, resolve(dirname(join(checkout, file)), (path ?? later)!)));
  direct.set(file, found);
  return found;
}

/** These files and all that import them, in any number of steps; `among` are the files to look at. */
export function importersOf(files: readonly string[], among: readonly string[]): ReadonlySet<string> {
  const importers = new Map<string, string[]>();
  for (const file of among)
    for (const imported of importsOf(file)) importers.set(imported, [...(importers.get(imported) ?? []), file]);
  const found = new Set(files);
  for (const each of found) for (const importer of importers.get(each) ?? []) found.add(importer);
  return found;
}

/** The file and all that it imports from below these directories, in any number of steps. */
export function reachOf(file: string, below: readonly string[]): ReadonlySet<string> {
  const reached = new Set([file]);
  // A set that grows is walked to its end.
  for (const each of reached)
    for (const imported of importsOf(each))
      if (below.some((directory) => imported.startsWith(`${directory}/`))) reached.add(imported);
  return reached;
}
