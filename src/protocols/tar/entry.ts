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
