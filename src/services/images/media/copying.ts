import type { Checksum } from './checksums.ts';
import type { Extent } from './iso/scan.ts';
import type { WholeSum } from './whole-sum.ts';

/** A file that a thread is to write. */
export interface FileToCopy {
  readonly path: string;
  readonly extents: readonly Extent[];
  readonly isExecutable: boolean;
  readonly time: number;
  readonly checksum: Checksum | undefined;
}

export interface CopyThreadData {
  /** Of the medium, open in this process. */
  readonly fd: number;
  readonly root: string;
  /** Becomes 1 when no more is to be copied. */
  readonly stop: Int32Array<SharedArrayBuffer>;
}

export type CopyRequest =
  | { readonly kind: 'end' }
  | { readonly kind: 'files'; readonly files: readonly FileToCopy[] }
  | { readonly kind: 'whole'; readonly sum: WholeSum };

/** What a thread says: how much it has done, that it wants more, or what went wrong. */
export type CopyNote =
  | { readonly kind: 'progress'; readonly bytes: number }
  | { readonly kind: 'done' }
  | { readonly kind: 'differs'; readonly path: string | undefined }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };
