import { mkdirSync, readdirSync, renameSync, lstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Fault } from '../../../core/errors.ts';
import { exchange } from '../../../core/exchange.ts';
import { syncDirectory } from '../../../core/files.ts';
import { discDirectories, readMarker, type TreeMarker } from './marker.ts';

/** What is where a tree is to be. */
export type Present =
  | { readonly kind: 'nothing' }
  /** Made from media; without a marker it has further discs only. */
  | {
      readonly kind: 'tree';
      readonly marker: TreeMarker | undefined;
      readonly discs: readonly (TreeMarker | undefined)[];
    };

export function presentAt(place: string): Present {
  const status = lstatSync(place, { throwIfNoEntry: false });
  if (!status) return { kind: 'nothing' };
  if (!status.isDirectory()) throw new Fault('invalid', `${place} exists and is not a directory: move it away.`);
  const marker = readMarker(place);
  const names = readdirSync(place);
  if (names.length === 0) return { kind: 'nothing' };
  const discs = discDirectories(place);
  if (marker || discs.length === names.length) return { kind: 'tree', marker, discs: discs.map(readMarker) };
  throw new Fault(
    'invalid',
    `${place} exists and was not made by copycds of this service, so it is left alone: move it away, or give another path with -p.`,
  );
}

/** The nearest directory above that exists. */
export function existingAbove(path: string): string {
  const above = dirname(path);
  return lstatSync(above, { throwIfNoEntry: false })?.isDirectory() ? above : existingAbove(above);
}

/** Puts a finished tree to its place in one step; what was there is then where the new one was. */
export function putInPlace(made: string, place: string, before: Present): void {
  mkdirSync(dirname(place), { recursive: true, mode: 0o755 });
  const now = presentAt(place);
  if (JSON.stringify(now) !== JSON.stringify(before))
    throw new Fault('invalid', `${place} was changed by another copy meanwhile: try again.`);
  if (now.kind === 'nothing') renameSync(made, place);
  else exchange(made, place);
  syncDirectory(dirname(place));
}

/** The directories that the discs of a release are in. */
export const directoriesOf = (tree: string): string[] =>
  lstatSync(tree, { throwIfNoEntry: false })?.isDirectory()
    ? [...(readMarker(tree) ? [tree] : []), ...discDirectories(tree)]
    : [];

export const discPlace = (tree: string, disc: number): string => (disc === 1 ? tree : join(tree, String(disc)));
