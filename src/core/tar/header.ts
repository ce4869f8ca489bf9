/**
 * What an archive says of one file. Names are bytes, as the kernel's are: each character of such a text is one byte ("binary" strings),
 * so that names in no known encoding survive.
 */
export interface TarEntry {
  readonly kind: TarKind;
  readonly path: string;
  /** Of symbolic links what they say, of hard links the path of the other name. */
  readonly link: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Seconds since 1970. */
  readonly mtime: number;
  /** Of the file, holes included. */
  readonly size: number;
  /** Where the stored bytes belong, if the file has holes. */
  readonly pieces: readonly Piece[] | undefined;
  readonly major: number;
  readonly minor: number;
  readonly attributes: readonly (readonly [name: string, value: Buffer])[];
}

export type TarKind =
  | 'file'
  | 'hard link'
  | 'symbolic link'
  | 'character device'
  | 'block device'
  | 'directory'
  | 'pipe';

/** A part of a file with holes that is stored. */
export interface Piece {
  readonly at: number;
  readonly length: number;
}

export const noBytes = Buffer.alloc(0);

/** What is wrong with an archive; whoever knows its name makes a sentence of it. */
export class TarError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'TarError';
  }
}

/** What extended headers say: the last value of each name, and pieces of sparse files, whose names repeat. */
export interface Extended {
  readonly values: ReadonlyMap<string, Buffer>;
  /** GNU.sparse.offset and .numbytes in turn. */
  readonly sparseNumbers: readonly Buffer[];
}

export const nothingExtended: Extended = { values: new Map(), sparseNumbers: [] };

const repeated = new Set(['GNU.sparse.offset', 'GNU.sparse.numbytes']);

/** Records "LENGTH NAME=VALUE\n", LENGTH counting the bytes of all of it. An empty value takes back what a global header said. */
export function parsePax(bytes: Buffer): Extended {
  const values = new Map<string, Buffer>();
  const sparseNumbers: Buffer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const blank = bytes.indexOf(0x20, at);
    const length = blank === -1 ? undefined : decimal(bytes.subarray(at, blank));
    const end = at + (length ?? 0);
    const equals = blank === -1 ? -1 : bytes.indexOf(0x3d, blank);
    if (length === undefined || end > bytes.length || bytes[end - 1] !== 0x0a || equals === -1 || equals >= end)
      throw new TarError('an extended header is malformed');
    const name = bytes.toString('latin1', blank + 1, equals);
    const value = bytes.subarray(equals + 1, end - 1);
    if (repeated.has(name)) sparseNumbers.push(value);
    else values.set(name, value);
    at = end;
  }
  return { values, sparseNumbers };
}

/** What comes later wins. */
export const joined = (global: Extended, own: Extended): Extended =>
  global === nothingExtended
    ? own
    : { values: new Map([...global.values, ...own.values]), sparseNumbers: own.sparseNumbers };

/** A whole number in decimal digits; undefined if it is none that can be counted with. */
export function decimal(bytes: Buffer): number | undefined {
  const text = bytes.toString('latin1');
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

export function decimalOf(bytes: Buffer, what: string): number {
  const value = decimal(bytes);
  if (value === undefined) throw new TarError(`an extended header has a ${what} that is not a number`);
  return value;
}

/** Seconds, with a fraction perhaps, and before 1970 perhaps. */
export function seconds(bytes: Buffer): number {
  const text = bytes.toString('latin1');
  if (!/^-?[0-9]{1,12}(\.[0-9]{0,18})?$/.test(text))
    throw new TarError('an extended header has a time that is not a number');
  return Number(text);
}

export const blockSize = 512;

/** A header block as it is. */
export interface Header {
  readonly name: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly mtime: number;
  readonly type: string;
  readonly link: string;
  readonly major: number;
  readonly minor: number;
}

const sumAt = 148;
const sumEnd = 156;

export function parseHeader(block: Buffer): Header {
  checkSum(block);
  // Only POSIX archives keep the beginning of long names there; GNU's have times in this place.
  const prefix = block.toString('latin1', 257, 263) === 'ustar\0' ? textIn(block, 345, 500) : '';
  const name = textIn(block, 0, 100);
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    mode: number(block, 100, 108, 'mode') & 0o7777,
    uid: number(block, 108, 116, 'owner'),
    gid: number(block, 116, 124, 'group'),
    size: size(block, 124, 136),
    mtime: number(block, 136, 148, 'time'),
    type: block.toString('latin1', 156, 157),
    link: textIn(block, 157, 257),
    major: number(block, 329, 337, 'device'),
    minor: number(block, 337, 345, 'device'),
  };
}

export function isZero(block: Buffer): boolean {
  for (let i = 0; i < block.length; i++) if (block[i] !== 0) return false;
  return true;
}

/** The sum of the header's bytes, its own counted as blanks; old programs added them as signed ones. */
function checkSum(block: Buffer): void {
  let unsigned = 0;
  let signed = 0;
  for (let i = 0; i < blockSize; i++) {
    const byte = i >= sumAt && i < sumEnd ? 0x20 : block[i]!;
    unsigned += byte;
    signed += byte > 127 ? byte - 256 : byte;
  }
  const stored = number(block, sumAt, sumEnd, 'checksum');
  if (stored !== unsigned && stored !== signed) throw new TarError('a header has a wrong checksum');
}

function textIn(block: Buffer, start: number, end: number): string {
  const zero = block.indexOf(0, start);
  return block.toString('latin1', start, zero === -1 || zero > end ? end : zero);
}

export function size(block: Buffer, start: number, end: number): number {
  const value = number(block, start, end, 'size');
  if (value < 0) throw new TarError('a header has a negative size');
  return value;
}

/** Octal digits, or, where those do not suffice, a binary number behind a byte with its first bit set. */
function number(block: Buffer, start: number, end: number, what: string): number {
  if (block[start]! & 0x80) return binary(block, start, end, what);
  let value = 0;
  let i = start;
  while (i < end && block[i] === 0x20) i++;
  for (; i < end; i++) {
    const byte = block[i]!;
    if (byte === 0 || byte === 0x20) break;
    if (byte < 0x30 || byte > 0x37) throw new TarError(`a header has a ${what} that is not a number`);
    value = value * 8 + byte - 0x30;
  }
  return value;
}

function binary(block: Buffer, start: number, end: number, what: string): number {
  const negative = block[start] === 0xff;
  let value = negative ? -1 : block[start]! & 0x7f;
  for (let i = start + 1; i < end; i++) value = value * 256 + block[i]!;
  if (!Number.isSafeInteger(value)) throw new TarError(`a header has a ${what} that is too large`);
  return value;
}
