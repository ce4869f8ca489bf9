import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Work } from '../../long-work/work.ts';
import type { PackJob } from './pack-job.ts';
import { writeCpio } from './cpio-tree.ts';

/** Packs a tree into a file of `directory`; its name. The same tree and time give the same bytes. */
export async function packRoot(
  task: Work,
  job: PackJob,
  tree: string,
  directory: string,
  time: number,
): Promise<string> {
  return job.method === 'squashfs' ? squashfs(task, job, tree, directory, time) : cpio(task, job, tree, directory);
}

async function squashfs(
  task: Work,
  { compress }: PackJob,
  tree: string,
  directory: string,
  time: number,
): Promise<string> {
  const file = 'rootimg.sfs';
  const made = join(directory, file);
  const packed = task.program('mksquashfs', [tree, made, ...squashfsOptions(compress), '-mem', `${memory()}M`], {
    // Times of files stay as they are; only the file system's own is fixed by it.
    env: { SOURCE_DATE_EPOCH: String(time) },
  });
  await Promise.all([packed, writingAlong(made, packed)]);
  return file;
}

/** While the file is made, what is there of it goes to the disk. What that loads is loaded meanwhile too. */
async function writingAlong(file: string, made: Promise<unknown>): Promise<void> {
  const { writeAlong } = await import('../../../core/sync-file-system.ts');
  const end = writeAlong(file);
  await made.finally(end);
}

/**
 * MiB for what is read and not yet written. By itself it takes a quarter of the machine's memory, and reads ahead until that is full;
 * memory that is used again costs less. The bytes of the result do not depend on it.
 */
const memory = (): number => Math.min(64 + 32 * availableParallelism(), Math.floor(totalmem() / 4 / 1024 / 1024));

/** Beyond level 9 zstd takes five times as long for a twentieth of the size. */
export const squashfsOptions = (compress: string): string[] => [
  '-noappend',
  '-no-progress',
  '-quiet',
  '-comp',
  compress,
  ...(compress === 'zstd' ? ['-Xcompression-level', '9'] : []),
];

async function cpio(task: Work, { compress }: PackJob, tree: string, directory: string): Promise<string> {
  const plain = 'rootimg.cpio';
  await writeCpio(tree, join(directory, plain), task.signal);
  if (compress === 'xz') {
    // A fixed number of threads: it decides how the content is cut.
    await task.program('xz', ['-T2', '-6', '--check=crc32', plain], { cwd: directory });
    return `${plain}.xz`;
  }
  await task.program(compress, ['-n', plain], { cwd: directory });
  return `${plain}.gz`;
}
