import type { Checksum } from './checksums.ts';
import type { Extent } from './iso/scan.ts';
import type { WholeSum } from './whole-sum.ts';

/** A file that is to be written. */
export interface FileToCopy {
  readonly path: string;
  readonly size: number;
  readonly extents: readonly Extent[];
  readonly isExecutable: boolean;
  readonly time: number;
  readonly checksum: Checksum | undefined;
}

/** What is done in one go: some files, or the sum of the whole medium. */
export type CopyRequest =
  | { readonly kind: 'files'; readonly files: readonly FileToCopy[] }
  | { readonly kind: 'whole'; readonly sum: WholeSum };

/** How it ended: more may come, no more was to be done, or a file or the medium as a whole (without a path) is not as its checksum says. */
export type CopyOutcome =
  | { readonly kind: 'ready' }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'differs'; readonly path: string | undefined };

/** What all who copy share. */
export interface CopyPlaces {
  /** Of the medium, open in this process. */
  readonly fd: number;
  /** Where the files go. */
  readonly root: string;
  /** Becomes 1 when no more is to be copied. */
  readonly stop: Int32Array<SharedArrayBuffer>;
}

/** What a thread is told. */
export type CopyOrder = CopyRequest | { readonly kind: 'end' };

/** What a thread says. */
export type CopyNote =
  | CopyOutcome
  | { readonly kind: 'progress'; readonly bytes: number }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };
