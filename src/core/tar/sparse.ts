import { decimal, decimalOf, type Extended, type Piece, size as sizeAt, TarError } from './header.ts';

/** Each piece costs memory. */
const mostPieces = 1_000_000;

/** How a file with holes says which parts it has: in its headers, or at the beginning of its data. */
export type SparseMap = { readonly pieces: readonly Piece[] } | 'in data' | undefined;

/** GNU tar's three ways to say it in extended headers. */
export function sparseMap({ values, sparseNumbers }: Extended): SparseMap {
  if (values.get('GNU.sparse.major')?.toString() === '1') return 'in data';
  const list = values.get('GNU.sparse.map');
  if (list)
    return {
      pieces: piecesOf(
        list
          .toString('latin1')
          .split(',')
          .map((each) => Buffer.from(each)),
      ),
    };
  return sparseNumbers.length === 0 ? undefined : { pieces: piecesOf(sparseNumbers) };
}

function piecesOf(numbers: readonly Buffer[]): Piece[] {
  checkCount(numbers.length / 2);
  const values = numbers.map((each) => decimalOf(each, 'piece of a sparse file'));
  if (values.length % 2 === 1) throw new TarError('an extended header has half a piece of a sparse file');
  return Array.from({ length: values.length / 2 }, (_, i) => ({ at: values[2 * i]!, length: values[2 * i + 1]! }));
}

/** Reads the map that stands before the data: lines with the number of pieces and then place and length of each, in whole blocks. */
export class MapInData {
  readonly #numbers: number[] = [];
  #line = '';
  #wanted = 1;

  /** The pieces once all is read. */
  block(bytes: Buffer): Piece[] | undefined {
    const lines = (this.#line + bytes.toString('latin1')).split('\n');
    this.#line = lines.pop()!;
    for (const line of lines) {
      if (this.#numbers.length === this.#wanted) break;
      const value = decimal(Buffer.from(line));
      if (value === undefined) throw new TarError('the map of a sparse file is malformed');
      if (this.#numbers.length === 0) {
        checkCount(value);
        this.#wanted = 1 + 2 * value;
      }
      this.#numbers.push(value);
    }
    if (this.#numbers.length < this.#wanted) {
      if (this.#line.length > 20) throw new TarError('the map of a sparse file is malformed');
      return undefined;
    }
    const count = this.#numbers[0]!;
    return Array.from({ length: count }, (_, i) => ({
      at: this.#numbers[1 + 2 * i]!,
      length: this.#numbers[2 + 2 * i]!,
    }));
  }
}

const oldPieces = { at: 386, count: 4, more: 482, size: 483 } as const;
const morePieces = { at: 0, count: 21, more: 504 } as const;

/** Of a header of GNU's old kind ("S"); whether a block with more of them follows. */
export function oldSparse(block: Buffer): { readonly pieces: Piece[]; readonly more: boolean; readonly size: number } {
  return {
    ...oldPiecesAt(block, oldPieces),
    size: sizeAt(block, oldPieces.size, oldPieces.size + 12),
  };
}

export const oldSparseMore = (block: Buffer): { readonly pieces: Piece[]; readonly more: boolean } =>
  oldPiecesAt(block, morePieces);

function oldPiecesAt(
  block: Buffer,
  { at, count, more }: { readonly at: number; readonly count: number; readonly more: number },
): { pieces: Piece[]; more: boolean } {
  const pieces: Piece[] = [];
  for (let i = 0; i < count; i++) {
    const place = at + 24 * i;
    if (block[place] === 0) break;
    pieces.push({ at: sizeAt(block, place, place + 12), length: sizeAt(block, place + 12, place + 24) });
  }
  return { pieces, more: block[more] !== 0 };
}

/** Pieces must lie in order inside the file and account for exactly the stored bytes. */
export function checkPieces(pieces: readonly Piece[], size: number, stored: number): void {
  checkCount(pieces.length);
  let end = 0;
  let total = 0;
  for (const { at, length } of pieces) {
    if (at < end || at + length > size) throw new TarError('the pieces of a sparse file overlap or exceed it');
    end = at + length;
    total += length;
  }
  if (total !== stored) throw new TarError('the pieces of a sparse file do not account for its data');
}

export function checkCount(pieces: number): void {
  if (pieces > mostPieces) throw new TarError(`a sparse file has more than ${mostPieces} pieces`);
}
