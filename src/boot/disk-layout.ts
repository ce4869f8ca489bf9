import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { ImagePaths } from '../images/index.ts';
import { readRealText } from '../nodes/index.ts';
import { listItems } from '../core/list-items.ts';
import type { NodeImage } from '../objects/node-image.ts';
import { diskArgument } from './ramdisk.ts';

/** A file system or swap space of an image on a disk. */
interface Part {
  /** Of the disk, or of the volume group that takes what the partitions leave. */
  readonly kind: 'partition' | 'volume';
  /** 0: all that is left. */
  readonly mebibytes: number;
  readonly format: Format;
  /** Where it is mounted; swap is not. */
  readonly place: string;
  readonly name: string;
}

const formats = ['ext4', 'xfs', 'swap'] as const;
type Format = (typeof formats)[number];

const units: Readonly<Record<string, number>> = { MiB: 1, GiB: 1024, TiB: 1024 ** 2 };
const examples = 'mirror [DISK], partition SIZE FORMAT [PLACE] or volume SIZE FORMAT [PLACE]';
const placePattern = /^\/(?:[A-Za-z0-9_][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_][A-Za-z0-9._-]*)*)?$/;
/** Parts of the root, or mounted by the system itself. */
const notApart = /^\/(etc|usr|bin|sbin|lib|lib64|dev|proc|sys|run|boot\/efi)(\/|$)/;
/** The kernel takes 2,048 characters, and there are others. */
const longest = 700;

/**
 * How the image goes to the disk of a node, as arguments of the initial RAM disk; undefined: in one partition. A Fault says what is wrong
 * with the file that `partitionfile` names.
 */
export async function layoutOf(snapshot: Snapshot, paths: ImagePaths, image: NodeImage): Promise<string | undefined> {
  const files = listItems(image.attribute('partitionfile'));
  const [file] = files;
  if (file === undefined) return undefined;
  const what = `${image.name}: partitionfile`;
  if (files.length > 1 || !file.startsWith('/'))
    throw new Fault(
      'invalid',
      `${what}: an image that is written to disks takes one file, and nothing stands before its path.`,
    );
  return layoutArguments(await readRealText(paths.source(snapshot, file, what), file), `${what} ${file}`);
}

/** The same of the text of such a file; `what` begins sentences about it. */
export function layoutArguments(text: string, what: string): string {
  const parts: Part[] = [];
  let mirror: string | undefined;
  for (const [index, whole] of text.split('\n').entries()) {
    const where = `${what}, line ${index + 1}`;
    const [word, ...rest] = whole.replace(/#.*/, '').trim().split(/\s+/);
    if (word === '') continue;
    if (word === 'mirror' && mirror === undefined && rest.length <= 1) mirror = secondDisk(rest[0], where);
    else if (word === 'partition' || word === 'volume') parts.push(readPart(word, rest, where, parts));
    else throw new Fault('invalid', `${where}: ${JSON.stringify(whole.trim())} is not ${examples}.`);
  }
  checkTogether(parts, what);
  const words = parts.map(({ kind, mebibytes, format, place, name }) =>
    [kind, mebibytes, format, place, name].join(':'),
  );
  const all = [`muster.layout=${words.join(',')}`, ...(mirror === undefined ? [] : [`muster.mirror=${mirror}`])].join(
    ' ',
  );
  if (all.length <= longest) return all;
  throw new Fault(
    'invalid',
    `${what}: this is too much for the command line of a kernel; divide the disk into fewer parts.`,
  );
}

function secondDisk(word: string | undefined, where: string): string {
  try {
    return diskArgument(word);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Fault(
      'invalid',
      `${where}: ${JSON.stringify(word)} names no disk: write /dev/NAME, wwn=NUMBER, serial=NUMBER, or nothing for one that is empty or was written by muster.`,
    );
  }
}

function readPart(kind: Part['kind'], words: readonly string[], where: string, before: readonly Part[]): Part {
  const [size = '', format = '', place = '', ...more] = words;
  const refuse = (problem: string): Fault => new Fault('invalid', `${where}: ${problem}.`);
  if (more.length > 0 || words.length < 2) throw refuse(`write ${examples}`);
  const [, number, unit = ''] = /^([1-9]\d{0,6})([MGT]iB)$/.exec(size) ?? [];
  if (size !== 'rest' && number === undefined)
    throw refuse(`the size ${JSON.stringify(size)} is neither a number with MiB, GiB or TiB, such as 20GiB, nor rest`);
  if (!(formats as readonly string[]).includes(format))
    throw refuse(`the format ${JSON.stringify(format)} is not one of ${formats.join(', ')}`);
  if ((format === 'swap') !== (place === '')) throw refuse('swap has no place, and everything else has one');
  if (place !== '' && (!placePattern.test(place) || notApart.test(place)))
    throw refuse(
      `${JSON.stringify(place)} cannot be a file system of its own. The EFI partition is made in any case; directories of the system belong to /`,
    );
  const base = place === '/' ? 'root' : place === '' ? 'swap' : place.slice(1).replaceAll(/[^A-Za-z0-9]/g, '_');
  const same = before.filter((part) => part.place === '' && place === '').length;
  const name = same === 0 ? base : `${base}${same + 1}`;
  if (before.some((part) => part.name === name)) throw refuse(`${place} or a name like it is there already`);
  return {
    kind,
    mebibytes: number === undefined ? 0 : Number(number) * units[unit]!,
    format: format as Format,
    place,
    name,
  };
}

function checkTogether(parts: readonly Part[], what: string): void {
  if (!parts.some(({ place }) => place === '/')) throw new Fault('invalid', `${what}: nothing is mounted at /.`);
  const hasVolumes = parts.some(({ kind }) => kind === 'volume');
  for (const kind of ['partition', 'volume'] as const) {
    const some = parts.filter((part) => part.kind === kind);
    if (some.slice(0, -1).some(({ mebibytes }) => mebibytes === 0))
      throw new Fault('invalid', `${what}: only the last ${kind} can take the rest.`);
    if (kind === 'partition' && hasVolumes && some.at(-1)?.mebibytes === 0)
      throw new Fault('invalid', `${what}: volumes take the rest of the disk, so give the last partition a size.`);
  }
}
