import type { FoundList } from '../../nodes/index.ts';
import type { ImageJob } from '../image-job.ts';
import type { Used } from '../manifest.ts';
import type { Exclusions } from './exclusions.ts';

export const packMethods = {
  squashfs: ['zstd', 'xz', 'gzip', 'lz4'],
  cpio: ['gzip', 'pigz', 'xz'],
} as const satisfies Record<string, readonly string[]>;

export type PackMethod = keyof typeof packMethods;

export interface PackJob extends ImageJob {
  readonly method: PackMethod;
  readonly compress: string;
  readonly exclusions: Exclusions;
  /** The hash of root's password; undefined: nobody logs in with one. */
  readonly password?: string;
  /** The line by which muster may log in. */
  readonly key: string;
  readonly sync: readonly FoundList[];
  readonly lists: readonly Used[];
  /** Where machines without an image find the ramdisk of this architecture. */
  readonly ramdisk: string;
  /** Whether the root goes to disks, and so has to be able to start from one. */
  readonly toDisk: boolean;
  /** Whether nothing is done if the pack in use would come out the same. */
  readonly ifChanged: boolean;
  /** How many packs stay, this one among them. */
  readonly kept: number;
}
