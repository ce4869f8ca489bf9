import { copyFile, mkdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Work } from '../../long-work/work.ts';
import { entryOf } from '../image-job.ts';

/**
 * Machines without an image boot the kernel and initial RAM disk of the one that was packed last for their architecture. Both are copied
 * beside `place`, so that a full disk changes nothing; what is returned puts them there at once, as `kernel` and `initrd`.
 */
export async function stageRamdisk(
  task: Work,
  from: string,
  place: string,
  files: readonly string[],
): Promise<() => Promise<void>> {
  const initrd = files.find((file) => file.startsWith('initrd-'));
  if (initrd === undefined || !files.includes('kernel')) return async () => undefined;
  await mkdir(dirname(place), { recursive: true });
  const made = join(await task.staging(dirname(place)), 'ramdisk');
  await mkdir(made, { mode: 0o755 });
  await copyFile(join(from, 'kernel'), join(made, 'kernel'));
  await copyFile(join(from, initrd), join(made, 'initrd'));
  // What it loads takes a while, of which there is enough while the root is packed.
  const { exchange } = await import('../../../core/exchange.ts');
  return async () => {
    if (entryOf(place)) return exchange(made, place);
    await rename(made, place).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
      // Another image was packed in this moment.
      exchange(made, place);
    });
  };
}
