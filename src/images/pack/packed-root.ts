import { createReadStream, createWriteStream, lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { cpioEnd, cpioHeader, cpioLargest, cpioPadding } from '../cpio.ts';
import { Fault } from '../../core/errors.ts';
import type { Work } from '../../work/index.ts';
import type { PackJob } from './pack-job.ts';

/** Writes a tree as an archive; the same tree gives the same bytes, whatever its inodes are called. */
async function writeCpio(tree: string, file: string, signal: AbortSignal): Promise<void> {
  await pipeline(Readable.from(entriesOf(tree)), createWriteStream(file, { flags: 'wx', mode: 0o644 }), { signal });
}

interface Found {
  readonly path: Buffer;
  readonly name: Buffer;
  readonly stats: Stats;
}

async function* entriesOf(tree: string): AsyncIterable<Buffer> {
  const all = [...walk(Buffer.from(tree), Buffer.alloc(0))];
  const names = new Map<string, number>();
  for (const { stats } of all) if (isShared(stats)) names.set(keyOf(stats), (names.get(keyOf(stats)) ?? 0) + 1);
  const inodes = new Map<string, number>();
  const left = new Map(names);
  let next = 1;
  for (const { path, name, stats } of all) {
    const shared = isShared(stats) ? keyOf(stats) : undefined;
    let inode = shared === undefined ? undefined : inodes.get(shared);
    if (inode === undefined) inode = next++;
    if (shared !== undefined) {
      inodes.set(shared, inode);
      left.set(shared, left.get(shared)! - 1);
    }
    // The content of a file of several names stands at the last.
    const isLast = shared === undefined || left.get(shared) === 0;
    const target = stats.isSymbolicLink() ? readlinkSync(path, { encoding: 'buffer' }) : undefined;
    const size = target ? target.length : stats.isFile() && isLast ? stats.size : 0;
    if (size > cpioLargest)
      throw new Fault(
        'invalid',
        `${name.toString()} is too large for cpio, which takes files of up to 4 GB; pack with squashfs.`,
      );
    const device = stats.isCharacterDevice() || stats.isBlockDevice();
    yield cpioHeader({
      name,
      mode: stats.mode,
      uid: stats.uid,
      gid: stats.gid,
      time: Math.floor(stats.mtimeMs / 1_000),
      size,
      inode,
      links: shared === undefined ? 1 : names.get(shared)!,
      ...(device
        ? {
            major: Number(BigInt(stats.rdev) >> 8n) & 0xfff,
            minor: (stats.rdev & 0xff) | ((stats.rdev >> 12) & 0xfff00),
          }
        : {}),
    });
    if (target) yield target;
    else if (size > 0)
      for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) yield chunk as Buffer;
    yield cpioPadding(size);
  }
  yield cpioEnd();
}

const isShared = (stats: Stats): boolean => stats.isFile() && stats.nlink > 1;
const keyOf = ({ dev, ino }: Stats): string => `${dev}:${ino}`;

function* walk(directory: Buffer, name: Buffer): Iterable<Found> {
  if (name.length > 0) yield { path: directory, name, stats: lstatSync(directory) };
  const inside = readdirSync(directory, { encoding: 'buffer' }).sort(Buffer.compare);
  for (const each of inside) {
    const path = Buffer.concat([directory, slash, each]);
    const below = name.length > 0 ? Buffer.concat([name, slash, each]) : each;
    const stats = lstatSync(path);
    if (stats.isDirectory()) yield* walk(path, below);
    else yield { path, name: below, stats };
  }
}

const slash = Buffer.from('/');

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
  const { writeAlong } = await import('../../core/sync-file-system.ts');
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
