import {
  blockSize,
  decimalOf,
  type Extended,
  type Header,
  isZero,
  joined,
  noBytes,
  nothingExtended,
  parseHeader,
  parsePax,
  type Piece,
  seconds,
  type TarEntry,
  TarError,
  type TarKind,
} from './header.ts';
import { checkCount, checkPieces, MapInData, oldSparse, oldSparseMore, sparseMap } from './sparse.ts';

/** Takes what an archive holds, in its order. */
export interface TarSink {
  entry(entry: TarEntry): void;
  /** Bytes of the file that was reported last, and their place in it. They are only lent. */
  data(bytes: Buffer, at: number): void;
  /** All of the entry's data was reported. */
  end(): void;
}

/** Extended attributes of a file are at most some times 64 KiB; names are far shorter. */
const mostExtended = 1 << 20;

const kinds: Readonly<Record<string, TarKind>> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '1': 'hard link',
  '2': 'symbolic link',
  '3': 'character device',
  '4': 'block device',
  '5': 'directory',
  '6': 'pipe',
};

const attributePrefix = 'SCHILY.xattr.';

/** What the next bytes are. */
type Phase = 'header' | 'extended' | 'old map' | 'map' | 'data' | 'padding' | 'end';

/**
 * Reads an archive from pieces of any size: POSIX ustar and pax, and what GNU tar writes (long names, large numbers, sparse files).
 * Strict: what it does not know is an error, since half an image is none.
 */
export class TarReader {
  readonly #sink: TarSink;
  #phase: Phase = 'header';
  /** Bytes of a block or an extended header that has not come as a whole yet. */
  #partial: Buffer[] = [];
  #partialLength = 0;
  /** What is left of the present phase. */
  #left = blockSize;
  /** Behind the stored data. */
  #padding = 0;
  #zeroBlock = false;

  #extendedType = '';
  #extendedSize = 0;
  #global: Extended = nothingExtended;
  #own: Extended = nothingExtended;
  #longName: string | undefined;
  #longLink: string | undefined;

  #header: Header | undefined;
  #oldPieces: Piece[] = [];
  #oldSize = 0;
  #map: MapInData | undefined;
  /** Stored bytes of the entry that are still to come, the map included. */
  #stored = 0;
  #pieces: readonly Piece[] | undefined;
  #piece = 0;
  #position = 0;

  constructor(sink: TarSink) {
    this.#sink = sink;
  }

  /** How many of the next bytes are data or nothing: a reader of a file need not read them, and says so by `skip`. */
  get skippable(): number {
    return this.#phase === 'data' || this.#phase === 'padding' ? this.#left : 0;
  }

  skip(count: number): void {
    this.#left -= count;
    if (this.#left === 0) this.#next();
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && this.#phase !== 'end') {
      const part = chunk.subarray(at, at + Math.min(this.#left, chunk.length - at));
      at += part.length;
      if (this.#phase === 'data') {
        this.#report(part);
        this.skip(part.length);
      } else if (this.#phase === 'padding') this.skip(part.length);
      else this.#collect(part);
    }
  }

  /** The archive is at its end. Many have no mark there, some not even the rest of the last block; but the last file must be whole. */
  finish(): void {
    const isBetween = this.#phase === 'header' && this.#partialLength === 0 && !this.#isHalfTold;
    if (this.#phase !== 'end' && this.#phase !== 'padding' && !isBetween)
      throw new TarError('it ends in the middle of a file');
  }

  get #isHalfTold(): boolean {
    return this.#own !== nothingExtended || this.#longName !== undefined || this.#longLink !== undefined;
  }

  #collect(part: Buffer): void {
    this.#left -= part.length;
    if (this.#left > 0) {
      // Copied: it belongs to whoever gave it.
      this.#partial.push(Buffer.from(part));
      this.#partialLength += part.length;
      return;
    }
    const whole = this.#partialLength === 0 ? part : Buffer.concat([...this.#partial, part]);
    this.#partial = [];
    this.#partialLength = 0;
    if (this.#phase === 'header') this.#block(whole);
    else if (this.#phase === 'extended') this.#extended(whole);
    else if (this.#phase === 'old map') this.#oldMap(whole);
    else this.#mapBlock(whole);
  }

  #enter(phase: Phase, length: number): void {
    this.#phase = phase;
    this.#left = length;
    if (length === 0) this.#next();
  }

  /** Data or padding is over. */
  #next(): void {
    if (this.#phase === 'data') {
      this.#sink.end();
      this.#enter('padding', this.#padding);
    } else this.#enter('header', blockSize);
  }

  #block(block: Buffer): void {
    if (isZero(block)) {
      this.#enter(this.#zeroBlock ? 'end' : 'header', blockSize);
      this.#zeroBlock = true;
      return;
    }
    if (this.#zeroBlock) throw new TarError('something follows its end');
    const header = parseHeader(block);
    this.#padding = -header.size & (blockSize - 1);
    if (header.size > Number.MAX_SAFE_INTEGER - blockSize) throw new TarError('a header has a size that is too large');
    if ('xgLK'.includes(header.type)) {
      if (header.size > mostExtended) throw new TarError(`an extended header has more than ${mostExtended} bytes`);
      this.#extendedType = header.type;
      this.#extendedSize = header.size;
      if (header.size === 0) this.#extended(noBytes);
      // Padding is read with it.
      else this.#enter('extended', header.size + this.#padding);
      return;
    }
    this.#header = header;
    if (header.type === 'S') {
      const { pieces, more, size } = oldSparse(block);
      this.#oldPieces = pieces;
      this.#oldSize = size;
      if (more) this.#enter('old map', blockSize);
      else this.#begin();
    } else this.#begin();
  }

  #extended(padded: Buffer): void {
    const bytes = padded.subarray(0, this.#extendedSize);
    if (this.#extendedType === 'x') this.#own = parsePax(Buffer.from(bytes));
    else if (this.#extendedType === 'g') this.#global = joined(this.#global, parsePax(Buffer.from(bytes)));
    else if (this.#extendedType === 'L') this.#longName = untilZero(bytes);
    else this.#longLink = untilZero(bytes);
    this.#enter('header', blockSize);
  }

  #oldMap(block: Buffer): void {
    const { pieces, more } = oldSparseMore(block);
    this.#oldPieces.push(...pieces);
    checkCount(this.#oldPieces.length);
    if (more) this.#enter('old map', blockSize);
    else this.#begin();
  }

  /** The header is complete; a map of holes may come before the data. */
  #begin(): void {
    const extended = joined(this.#global, this.#own);
    const size = extended.values.get('size');
    const header = this.#header!;
    const isFile = header.type === 'S' || kinds[header.type] === 'file';
    // Of other kinds the size says nothing about data: there is none.
    this.#stored = isFile ? (size?.length ? decimalOf(size, 'size') : header.size) : 0;
    this.#padding = -this.#stored & (blockSize - 1);
    const map = isFile ? sparseMap(extended) : undefined;
    if (map === 'in data') {
      this.#map = new MapInData();
      if (this.#stored < blockSize) throw new TarError('a sparse file has no map');
      this.#enter('map', blockSize);
      return;
    }
    this.#announce(header.type === 'S' ? this.#oldPieces : map?.pieces);
  }

  #mapBlock(block: Buffer): void {
    this.#stored -= blockSize;
    const pieces = this.#map!.block(block);
    if (pieces) this.#announce(pieces);
    else if (this.#stored < blockSize) throw new TarError('the map of a sparse file is cut off');
    else this.#enter('map', blockSize);
  }

  #announce(pieces: readonly Piece[] | undefined): void {
    const entry = this.#entry(joined(this.#global, this.#own), pieces);
    if (pieces) checkPieces(pieces, entry.size, this.#stored);
    this.#own = nothingExtended;
    this.#longName = undefined;
    this.#longLink = undefined;
    this.#pieces = pieces;
    this.#piece = 0;
    this.#position = 0;
    this.#sink.entry(entry);
    this.#enter('data', this.#stored);
  }

  #entry({ values }: Extended, pieces: readonly Piece[] | undefined): TarEntry {
    const header = this.#header!;
    const own = (name: string): Buffer | undefined => {
      const value = values.get(name);
      return value?.length ? value : undefined;
    };
    const counted = (name: string, otherwise: number): number => {
      const value = own(name);
      return value ? decimalOf(value, name) : otherwise;
    };
    const path = (own('GNU.sparse.name') ?? own('path'))?.toString('latin1') ?? this.#longName ?? header.name;
    const mtime = own('mtime');
    return {
      kind: kindOf(header, path),
      path,
      link: own('linkpath')?.toString('latin1') ?? this.#longLink ?? header.link,
      mode: header.mode,
      uid: counted('uid', header.uid),
      gid: counted('gid', header.gid),
      mtime: mtime ? seconds(mtime) : header.mtime,
      size: pieces ? this.#sparseSize(counted) : this.#stored,
      pieces,
      major: header.major,
      minor: header.minor,
      attributes: attributesIn(values),
    };
  }

  #sparseSize(counted: (name: string, otherwise: number) => number): number {
    if (this.#header!.type === 'S') return this.#oldSize;
    return counted('GNU.sparse.realsize', counted('GNU.sparse.size', this.#stored));
  }

  /** Reports stored bytes with their places in the file. */
  #report(bytes: Buffer): void {
    if (!this.#pieces) {
      this.#sink.data(bytes, this.#position);
      this.#position += bytes.length;
      return;
    }
    let at = 0;
    while (at < bytes.length) {
      const piece = this.#pieces[this.#piece]!;
      const left = piece.length - this.#position;
      if (left === 0) {
        this.#piece++;
        this.#position = 0;
        continue;
      }
      const part = bytes.subarray(at, at + left);
      this.#sink.data(part, piece.at + this.#position);
      this.#position += part.length;
      at += part.length;
    }
  }
}

function kindOf({ type }: Header, path: string): TarKind {
  // Before POSIX a directory was a file whose name ends so.
  if (type === '\0' && path.endsWith('/')) return 'directory';
  const kind = type === 'S' ? 'file' : kinds[type];
  if (kind === undefined) throw new TarError(`it has an entry of the unknown type ${JSON.stringify(type)}`);
  return kind;
}

function attributesIn(values: ReadonlyMap<string, Buffer>): (readonly [string, Buffer])[] {
  const found: (readonly [string, Buffer])[] = [];
  for (const [name, value] of values)
    if (name.startsWith(attributePrefix)) found.push([name.slice(attributePrefix.length), value]);
  return found;
}

function untilZero(bytes: Buffer): string {
  const zero = bytes.indexOf(0);
  return bytes.toString('latin1', 0, zero === -1 ? bytes.length : zero);
}
