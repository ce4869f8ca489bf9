import { asTheyCome } from '../../core/as-they-come.ts';
import { SharedPieces } from '../../core/shared-pieces.ts';
import { fillFrom, openSource } from '../../protocols/ssh/sftp/source.ts';
import { paddedSize, tarEnd } from '../../protocols/tar/write.ts';
import type { CargoItem } from './cargo.ts';
import type { TreeLayout, TreeMember } from './tree-layout.ts';

/** Bytes that are made and sent at once. */
const pieceSize = 256 * 1024;
const filesAtOnce = 8;
/** Programs read archives in records of so many bytes. */
const record = 20 * 512;

/**
 * A tree as one archive that is sent to many nodes. Where everything is in it is known from the start, so any piece can be made at any
 * time.
 */
export class TreeArchive {
  /** Of what was unpacked, the directory with what is left to do. */
  readonly control: Buffer;
  /** Bytes of all files. */
  readonly size: number;
  readonly pieces: number;
  readonly #members: readonly TreeMember[];
  /** Where each member begins. */
  readonly #starts: Float64Array;
  readonly #length: number;
  readonly #made = new SharedPieces((index) => this.#make(index));

  constructor({ members, control, size }: TreeLayout) {
    this.#members = members;
    this.control = control;
    this.size = size;
    this.#starts = new Float64Array(members.length);
    let at = 0;
    for (const [index, { header, file, content }] of members.entries()) {
      this.#starts[index] = at;
      at += header.length + paddedSize(file?.size ?? content.length);
    }
    this.#length = Math.ceil((at + tarEnd().length) / record) * record;
    this.pieces = Math.ceil(this.#length / pieceSize);
  }

  /** How many pieces were made so far. */
  get made(): number {
    return this.#made.made;
  }

  /** Nobody may change it. */
  piece(index: number): Promise<Buffer> {
    return this.#made.get(index);
  }

  async #make(index: number): Promise<Buffer> {
    const start = index * pieceSize;
    const piece = Buffer.alloc(Math.min(pieceSize, this.#length - start));
    const reads: (() => Promise<void>)[] = [];
    for (let next = this.#memberAt(start); next < this.#members.length; next++) {
      const at = this.#starts[next]! - start;
      if (at >= piece.length) break;
      const { header, file, content } = this.#members[next]!;
      copyPart(header, piece, at);
      copyPart(content, piece, at + header.length);
      if (file) reads.push(() => readPart(file, piece, at + header.length));
    }
    for await (const _ of asTheyCome(reads, filesAtOnce, (read) => read()));
    return piece;
  }

  /** The member that a byte of the archive belongs to. */
  #memberAt(position: number): number {
    let [low, high] = [0, this.#starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#starts[middle]! <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** What of the bytes, which begin `at` there, lies within the piece. */
function copyPart(bytes: Buffer, piece: Buffer, at: number): void {
  if (at + bytes.length > 0 && at < piece.length) bytes.copy(piece, Math.max(0, at), Math.max(0, -at));
}

async function readPart({ from, size }: CargoItem, piece: Buffer, at: number): Promise<void> {
  const [begin, end] = [Math.max(0, at), Math.min(piece.length, at + size)];
  if (begin >= end) return;
  const { file } = await openSource(from);
  try {
    await fillFrom(file, from, piece.subarray(begin, end), begin - at);
  } finally {
    await file.close();
  }
}
