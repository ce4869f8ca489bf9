import { TarError } from './entry.ts';

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
  const prefix = block.toString('latin1', 257, 263) === 'ustar\0' ? text(block, 345, 500) : '';
  const name = text(block, 0, 100);
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    mode: number(block, 100, 108, 'mode') & 0o7777,
    uid: number(block, 108, 116, 'owner'),
    gid: number(block, 116, 124, 'group'),
    size: size(block, 124, 136),
    mtime: number(block, 136, 148, 'time'),
    type: block.toString('latin1', 156, 157),
    link: text(block, 157, 257),
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

function text(block: Buffer, start: number, end: number): string {
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
    if (byte < 0x30 || byte > 0x37) throw new TarError(`a header has a ${what} that is no number`);
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
