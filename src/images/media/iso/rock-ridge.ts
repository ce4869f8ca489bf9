import type { IsoFile } from './iso-file.ts';

/** What Rock Ridge (with SUSP) says of a file. */
export interface RockRidge {
  readonly name: Buffer | undefined;
  /** As of stat(2). */
  readonly mode: number | undefined;
  /** The parts of a symbolic link's target; `/` is the root. */
  readonly link: readonly string[] | undefined;
  /** The block of a directory that was moved because it lay too deep. */
  readonly childBlock: number | undefined;
  /** It is such a directory, at the place it was moved to. */
  readonly isMoved: boolean;
  /** Its content is compressed or has holes. */
  readonly isEncoded: boolean;
}

const mostContinuations = 64;
const largestContinuation = 64 * 1_024;
const mostParts = 1_024;

/** The bytes to skip in each record if the medium has Rock Ridge; they are in the first record of the root. */
export function rockRidgeSkip(iso: IsoFile, systemUse: Buffer): number | undefined {
  const isSusp =
    systemUse.length >= 7 && systemUse.toString('latin1', 0, 2) === 'SP' && systemUse.readUInt16BE(4) === 0xbeef;
  if (!isSusp) return undefined;
  return readRockRidge(iso, systemUse).mode === undefined ? undefined : systemUse[6]!;
}

export function readRockRidge(iso: IsoFile, area: Buffer): RockRidge {
  const names: Buffer[] = [];
  const link = new LinkParts(iso);
  let mode: number | undefined;
  let childBlock: number | undefined;
  let isMoved = false;
  let isEncoded = false;
  for (const [signature, data] of entriesOf(iso, area)) {
    if (signature === 'NM' && data.length > 0) {
      if ((data[0]! & 0x06) !== 0) throw iso.broken('a file of it is called "." or ".."');
      names.push(data.subarray(1));
    } else if (signature === 'PX' && data.length >= 4) mode = data.readUInt32LE(0);
    else if (signature === 'SL' && data.length > 0) link.add(data.subarray(1));
    else if (signature === 'CL' && data.length >= 4) childBlock = data.readUInt32LE(0);
    else if (signature === 'RE') isMoved = true;
    else if (signature === 'ZF' || signature === 'SF') isEncoded = true;
  }
  const name = names.length === 0 ? undefined : Buffer.concat(names);
  return { name, mode, link: link.parts, childBlock, isMoved, isEncoded };
}

/** Signatures and data; continuation areas, which lie elsewhere on the medium, are followed a bounded number of times. */
function* entriesOf(iso: IsoFile, first: Buffer): Iterable<[signature: string, data: Buffer]> {
  let area: Buffer | undefined = first;
  for (let hops = 0; area; hops++) {
    if (hops > mostContinuations) throw iso.broken('what describes a file of it is without end');
    let next: Buffer | undefined;
    for (let at = 0; at + 4 <= area.length; ) {
      const length = area[at + 2]!;
      if (length < 4 || at + length > area.length) break;
      const signature = area.toString('latin1', at, at + 2);
      const data = area.subarray(at + 4, at + length);
      if (signature === 'ST') break;
      if (signature === 'CE' && data.length >= 24) next = continuation(iso, data);
      else yield [signature, data];
      at += length;
    }
    area = next;
  }
}

function continuation(iso: IsoFile, data: Buffer): Buffer {
  const length = data.readUInt32LE(16);
  if (length > largestContinuation) throw iso.broken('what describes a file of it is too long');
  return iso.read(data.readUInt32LE(0) * 2_048 + data.readUInt32LE(8), length, 'what describes a file');
}

/** The target of a symbolic link, which comes in pieces. */
class LinkParts {
  readonly #iso: IsoFile;
  readonly #pieces: Buffer[] = [];
  parts: string[] | undefined;

  constructor(iso: IsoFile) {
    this.#iso = iso;
  }

  add(data: Buffer): void {
    this.parts ??= [];
    for (let at = 0; at + 2 <= data.length; ) {
      const flags = data[at]!;
      const end = at + 2 + data[at + 1]!;
      if (end > data.length) throw this.#iso.broken('a link of it has a broken target');
      this.#pieces.push(data.subarray(at + 2, end));
      if ((flags & 0x01) === 0) this.parts.push(this.#part(flags));
      if (this.parts.length > mostParts) throw this.#iso.broken('a link of it has an endless target');
      at = end;
    }
  }

  #part(flags: number): string {
    const text = Buffer.concat(this.#pieces.splice(0)).toString();
    return (flags & 0x08) !== 0 ? '/' : (flags & 0x04) !== 0 ? '..' : (flags & 0x02) !== 0 ? '.' : text;
  }
}
