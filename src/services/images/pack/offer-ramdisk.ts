import { copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exchange } from '../../../core/exchange.ts';
import { entryOf } from '../image-job.ts';
import type { Pack } from '../manifest.ts';

/**
 * Machines without an image boot the kernel and initial RAM disk of the one that was packed last for their architecture. Both are put in
 * `place` at once, as `kernel` and `initrd`.
 */
export async function offerRamdisk(from: string, place: string, { id, parts }: Pack): Promise<void> {
  const initrd = parts.find(({ file }) => file.startsWith('initrd-'))?.file;
  if (initrd === undefined || !parts.some(({ file }) => file === 'kernel')) return;
  const made = `${place}.${id}`;
  await rm(made, { recursive: true, force: true });
  await mkdir(dirname(place), { recursive: true });
  await mkdir(made);
  await copyFile(join(from, 'kernel'), join(made, 'kernel'));
  await copyFile(join(from, initrd), join(made, 'initrd'));
  if (entryOf(place)) exchange(made, place);
  else await rename(made, place);
  await rm(made, { recursive: true, force: true });
}
