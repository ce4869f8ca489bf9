import { Fault } from '../../../core/errors.ts';
import { blockSize, type IsoFile } from './iso-file.ts';
import { rockRidgeSkip } from './rock-ridge.ts';

/** A directory record of ISO 9660 (ECMA-119, 9.1) as it stands on the medium. */
export interface IsoRecord {
  readonly block: number;
  readonly size: number;
  readonly isDirectory: boolean;
  /** A fork of a file for another system. */
  readonly isAssociated: boolean;
  /** The next record goes on with the same file. */
  readonly continues: boolean;
  readonly name: Buffer;
  /** Extensions such as Rock Ridge. */
  readonly systemUse: Buffer;
  /** Seconds since 1970. */
  readonly recorded: number;
}

const smallestRecord = 34;

export function readRecord(iso: IsoFile, bytes: Buffer, at: number): IsoRecord {
  const length = bytes[at]!;
  if (length < smallestRecord || at + length > bytes.length) throw iso.broken('a directory of it has a broken record');
  const nameLength = bytes[at + 32]!;
  const nameEnd = at + 33 + nameLength;
  if (nameEnd > at + length) throw iso.broken('a directory of it has a name that is longer than its record');
  // Names are padded so that what follows begins at an even place.
  const systemUse = Math.min(nameEnd + (nameLength % 2 === 0 ? 1 : 0), at + length);
  const flags = bytes[at + 25]!;
  if (bytes[at + 26] !== 0 || bytes[at + 27] !== 0) throw iso.broken('it has interleaved files');
  return {
    block: bytes.readUInt32LE(at + 2) + bytes[at + 1]!,
    size: bytes.readUInt32LE(at + 10),
    isDirectory: (flags & 0x02) !== 0,
    isAssociated: (flags & 0x04) !== 0,
    continues: (flags & 0x80) !== 0,
    name: bytes.subarray(at + 33, nameEnd),
    systemUse: bytes.subarray(systemUse, at + length),
    recorded: timeOf(bytes.subarray(at + 18, at + 25)),
  };
}

/** The records of a directory; none of them crosses the border of a block. */
export function* recordsOf(iso: IsoFile, bytes: Buffer): Iterable<IsoRecord> {
  for (let at = 0; at < bytes.length; ) {
    const length = bytes[at]!;
    const blockEnd = at - (at % blockSize) + blockSize;
    if (length === 0) {
      at = blockEnd;
      continue;
    }
    if (at + length > blockEnd) throw iso.broken('a directory of it has a broken record');
    yield readRecord(iso, bytes, at);
    at += length;
  }
}

/** Nonsense becomes some other moment, which does no harm. */
function timeOf(bytes: Buffer): number {
  const [year, month, day, hour, minute, second] = bytes;
  const local = Date.UTC(1900 + year!, month! - 1, day, hour, minute, second) / 1_000;
  return local - bytes.readInt8(6) * 15 * 60;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const longestName = 255;

/** The name of a file: as the medium gives it, but never one that means another place or hides what it is. */
export function decodeName(iso: IsoFile, names: Names, record: IsoRecord, rockRidge: Buffer | undefined): string {
  const name = decoded(iso, names, record, rockRidge);
  // oxlint-disable-next-line no-control-regex
  if (name === '' || name === '.' || name === '..' || /[/\u0000-\u001f\u007f]/.test(name))
    throw iso.broken(`it has a file with the name ${JSON.stringify(name)}`);
  if (Buffer.byteLength(name) > longestName)
    throw iso.broken(`it has a file whose name is longer than ${longestName} bytes`);
  return name;
}

function decoded(iso: IsoFile, names: Names, { name }: IsoRecord, rockRidge: Buffer | undefined): string {
  if (rockRidge) return text(iso, rockRidge);
  if (names.kind === 'joliet') return withoutVersion(jolietText(iso, name));
  // As Linux shows them.
  return withoutVersion(text(iso, name)).replace(/\.$/, '').toLowerCase();
}

function text(iso: IsoFile, bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw iso.broken(`it has a file whose name is not UTF-8 (${JSON.stringify(bytes.toString('latin1'))})`);
  }
}

function jolietText(iso: IsoFile, name: Buffer): string {
  if (name.length % 2 !== 0) throw iso.broken('it has a file with half a character in its name');
  return Buffer.from(name).swap16().toString('utf16le');
}

const withoutVersion = (name: string): string => name.replace(/;\d{1,5}$/, '');

/**
 * Whether a link stays inside the tree whatever else is a link there: it goes up first and then only down, and not above the root.
 * (`a/../..` would depend on what `a` is.)
 */
export function isInside(path: string, parts: readonly string[]): boolean {
  // oxlint-disable-next-line no-control-regex
  if (parts.length === 0 || parts.some((part) => part === '' || /[/\u0000-\u001f\u007f]/.test(part))) return false;
  const ups = parts.findIndex((part) => part !== '..' && part !== '.');
  const down = ups < 0 ? [] : parts.slice(ups);
  if (down.includes('..')) return false;
  const climbs = parts.filter((part) => part === '..').length;
  return climbs <= path.split('/').length - 1;
}

/** How files are called: by Rock Ridge, by Joliet, or by the short names of ISO 9660 alone. */
type Names = { readonly kind: 'rock-ridge'; readonly skip: number } | { readonly kind: 'joliet' | 'plain' };

export interface Volume {
  readonly label: string;
  readonly names: Names;
  readonly root: IsoRecord;
  /** How many blocks it has by its own account; the file may have more. */
  readonly blocks: number;
  /** All volume descriptors: with the time it was made they distinguish one medium from another. */
  readonly descriptors: Buffer;
}

const firstDescriptor = 16;
const mostDescriptors = 64;
const rootRecord = 156;
/** Where a descriptor has what belongs to those who made the medium, such as its MD5 sum. */
export const applicationUse = { at: firstDescriptor * blockSize + 883, length: 512 } as const;

/** The volume descriptors, of which the first that serves says where the files are. */
export function readVolume(iso: IsoFile): Volume {
  const descriptors = descriptorsOf(iso);
  const primary = descriptors.find((each) => each[0] === 1);
  if (!primary) throw noMedium(iso);
  if (primary.readUInt16LE(128) !== blockSize)
    throw new Fault('invalid', `${iso.name} has blocks of another size than ${blockSize} bytes, which are not read.`);
  const root = readRecord(iso, primary, rootRecord);
  const all = {
    label: primary.toString('latin1', 40, 72).trim(),
    blocks: primary.readUInt32LE(80),
    descriptors: Buffer.concat(descriptors),
  };
  const skip = rockRidgeSkip(
    iso,
    readRecord(iso, iso.blocks(root.block, blockSize, 'the root directory'), 0).systemUse,
  );
  if (skip !== undefined) return { ...all, names: { kind: 'rock-ridge', skip }, root };
  const joliet = descriptors.find((each) => each[0] === 2 && isJoliet(each));
  if (joliet) return { ...all, names: { kind: 'joliet' }, root: readRecord(iso, joliet, rootRecord) };
  return { ...all, names: { kind: 'plain' }, root };
}

function descriptorsOf(iso: IsoFile): Buffer[] {
  const found: Buffer[] = [];
  for (let number = 0; number < mostDescriptors; number++) {
    const position = (firstDescriptor + number) * blockSize;
    if (position + blockSize > iso.size) break;
    const descriptor = iso.read(position, blockSize, 'a volume descriptor');
    if (descriptor.toString('latin1', 1, 6) !== 'CD001') break;
    found.push(descriptor);
    if (descriptor[0] === 255) break;
  }
  return found;
}

const isJoliet = (descriptor: Buffer): boolean => /^%\/[@CE]/.test(descriptor.toString('latin1', 88, 91));

const noMedium = (iso: IsoFile): Fault =>
  new Fault('invalid', `${iso.name} is not an ISO 9660 image: it has no volume descriptor. Is the download complete?`);
