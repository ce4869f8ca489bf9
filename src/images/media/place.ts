import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { exchange } from '../../core/exchange.ts';
import { syncDirectory } from '../../core/files.ts';
import { isBelow } from '../real-paths.ts';
import { placeKey } from './iso/scan.ts';
import type { Medium } from './medium.ts';

/** Lies in every tree that was made from a medium, and says which media are in it. */
export const markerName = '.muster-medium.json';

interface TreeMarker {
  readonly os: string;
  readonly arch: string;
  /** Fingerprints of the media and when they were copied, the latest last. */
  readonly media: Readonly<Record<string, string>>;
}

const smallFile = 64 * 1_024;
const mostRead = 32 * 1_048_576;

/**
 * What distinguishes a medium from others without reading all of it: when it was made, every file's name, size, place and time, and the
 * content of small files, among which are indexes and lists of checksums.
 */
export function fingerprintOf({ iso, contents }: Medium): string {
  const hash = createHash('sha256').update(contents.volume.descriptors).update(`${iso.size}\n`);
  let read = 0;
  for (const file of contents.files) {
    hash.update(`${file.path}\0${placeKey(file)}\0${file.time}\n`);
    if (file.size > smallFile || read > mostRead) continue;
    read += file.size;
    for (const { position, length } of file.extents) hash.update(iso.read(position, length, `"${file.path}"`));
  }
  for (const { path, target } of contents.links) hash.update(`${path}\0${target}\n`);
  return hash.digest('hex');
}

/** The medium that was put over the others. */
export const lastOf = (marker: TreeMarker | undefined): string | undefined => Object.keys(marker?.media ?? {}).at(-1);

export function readMarker(tree: string): TreeMarker | undefined {
  let text: string;
  try {
    if (!lstatSync(join(tree, markerName)).isFile()) return undefined;
    text = readFileSync(join(tree, markerName), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { os, arch, media } = JSON.parse(text) as TreeMarker;
    return { os, arch, media: { ...media } };
  } catch (error) {
    throw new Fault('invalid', `${join(tree, markerName)} cannot be read: remove it with its directory.`, {
      cause: error,
    });
  }
}

/** The directories of further discs below a tree. */
function discDirectories(tree: string): string[] {
  const names = readdirSync(tree).filter((name) => /^[1-9]\d?$/.test(name));
  return names
    .sort((a, b) => Number(a) - Number(b))
    .map((name) => join(tree, name))
    .filter((path) => readMarker(path) !== undefined);
}

/** Whether every file of the medium is in the tree as long as it should be. */
export function isComplete(tree: string, { contents }: Medium): boolean {
  const sizeOf = (path: string): number | undefined => {
    const status = lstatSync(join(tree, path), { throwIfNoEntry: false });
    return status?.isFile() ? status.size : undefined;
  };
  return (
    contents.files.every(({ path, size }) => sizeOf(path) === size) &&
    contents.links.every(({ path }) => lstatSync(join(tree, path), { throwIfNoEntry: false })?.isSymbolicLink())
  );
}

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
    `${place} exists and was not made by copycds of this service, so it was not changed: move it away, or give another path with -p.`,
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

/** A file or directory that an image names, as plain data for the process that copies a medium. */
export interface ImagePlace {
  readonly image: string;
  readonly attribute: string;
  readonly named: string;
  /** Where that leads. */
  readonly real: string;
  /** Whatever lies in it belongs to the image too. */
  readonly isDirectory: boolean;
}

/** What an image names decides what runs on nodes; a medium must not bring it. */
export function checkImagePlaces(tree: string, places: readonly ImagePlace[]): void {
  const taken = places.find(({ real, isDirectory }) => isBelow(real, tree) || (isDirectory && isBelow(tree, real)));
  if (!taken) return;
  const { image, attribute, named } = taken;
  throw new Fault(
    'invalid',
    `The path of the tree ${tree} is where the image ${image} has its ${attribute}, ${named}; give another path with -p, or move what the image names.`,
  );
}
