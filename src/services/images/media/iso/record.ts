import type { IsoFile } from './iso-file.ts';
import { blockSize } from './iso-file.ts';

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
