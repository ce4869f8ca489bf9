import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, expect, test } from 'vitest';
import { copyFiles } from '../../../src/images/media/copy-files.ts';
import type { Algorithm } from '../../../src/images/media/checksums.ts';
import type { CopyNote, CopyOrder, FileToCopy } from '../../../src/images/media/file-copier.ts';
import { scratchDirectory } from '../../harness/store.ts';

const scratch = scratchDirectory();
mkdirSync(scratch, { recursive: true });
const content = randomBytes(1_000_000);
const medium = join(scratch, 'medium');
writeFileSync(medium, content);
const fd = openSync(medium, 'r');
afterAll(() => {
  closeSync(fd);
  rmSync(scratch, { recursive: true });
});

const piece = (number: number): Buffer => content.subarray(number * 100, number * 100 + 1_000);

/** A thousand bytes from somewhere on the medium, with their checksum or that of others. */
function file(number: number, summed: Buffer = piece(number)): FileToCopy {
  return {
    path: `file-${number}`,
    size: 1_000,
    extents: [{ position: number * 100, length: 1_000 }],
    isExecutable: false,
    time: 0,
    checksum: { algorithm: 'md5', digest: createHash('md5').update(summed).digest('hex') },
  };
}

const newRoot = (): string => mkdtempSync(join(scratch, 'root-'));
const many = Array.from({ length: 1_100 }, (_, number) => number);

test('files are written once each and in full, however many share the work', async () => {
  const root = newRoot();
  let written = 0;
  const { signal } = new AbortController();
  const files = many.map((number) => file(number));
  await copyFiles({ fd, name: 'm', root, files, whole: undefined, signal, progress: (bytes) => (written += bytes) });
  expect(readdirSync(root)).toHaveLength(many.length);
  for (const number of many) expect(readFileSync(join(root, `file-${number}`)).equals(piece(number))).toBe(true);
  expect(written).toBe(many.length * 1_000);
});

test('a file that is not as its checksum says ends the work of all', async () => {
  const { signal } = new AbortController();
  const files = many.map((number) => file(number, piece(number === 1_050 ? 1 : number)));
  const copy = copyFiles({
    fd,
    name: 'the medium',
    root: newRoot(),
    files,
    whole: undefined,
    signal,
    progress: () => undefined,
  });
  await expect(copy).rejects.toThrow('the medium is damaged: the checksum of "file-1050"');
});

/** A file of several pieces of the medium, with a checksum of any kind or none. */
function assembled(number: number, sizes: readonly number[], algorithm: Algorithm | undefined): FileToCopy {
  const extents = sizes.map((length, place) => ({ position: (number + place) * 10, length }));
  const bytes = Buffer.concat(extents.map(({ position, length }) => content.subarray(position, position + length)));
  const checksum = algorithm && { algorithm, digest: createHash(algorithm).update(bytes).digest('hex') };
  const place = { path: `file-${number}`, size: bytes.length, extents };
  return { ...place, isExecutable: number % 2 === 0, time: number, checksum };
}

const sizes: readonly (readonly number[])[] = [
  [],
  [0],
  [1],
  [64, 64],
  [100_000, 1, 65_535],
  [65_536],
  [65_536, 65_536, 1],
  [900_000],
  [63, 0, 65_537],
  Array.from({ length: 12 }, () => 900_000),
];
const algorithms = ['md5', 'sha256', undefined, 'md5', 'md5', 'sha512', 'md5'] as const;
const mixed = Array.from({ length: 70 }, (_, n) => assembled(n, sizes[n % 10]!, algorithms[n % 7]));

test('files of all sizes, of several pieces and with all kinds of sums are copied and verified', async () => {
  const root = newRoot();
  expect(await inThread(root, [{ kind: 'files', files: mixed }])).toEqual([{ kind: 'ready' }, { kind: 'ready' }]);
  for (const { path, extents, isExecutable, time } of mixed) {
    const bytes = Buffer.concat(extents.map(({ position, length }) => content.subarray(position, position + length)));
    expect(readFileSync(join(root, path)).equals(bytes), path).toBe(true);
    const { mode, mtimeMs } = statSync(join(root, path));
    expect([mode & 0o777, mtimeMs]).toEqual([isExecutable ? 0o755 : 0o644, time * 1_000]);
  }
});

test.each(mixed.filter(({ checksum }) => checksum).slice(0, 8))(
  '$path that differs is found among others',
  async (one) => {
    const digest = one.checksum!.digest.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    const files = mixed.map((each) => (each === one ? { ...one, checksum: { ...one.checksum!, digest } } : each));
    expect(await inThread(newRoot(), [{ kind: 'files', files }])).toEqual([
      { kind: 'ready' },
      { kind: 'differs', path: one.path },
    ]);
  },
);

async function inThread(root: string, orders: readonly CopyOrder[], isStopped = false): Promise<CopyNote[]> {
  const stop = new Int32Array(new SharedArrayBuffer(4)).fill(isStopped ? 1 : 0);
  const worker = new Worker(new URL('../../../src/images/media/copy-thread.ts', import.meta.url), {
    workerData: { fd, root, stop },
  });
  const notes: CopyNote[] = [];
  worker.on('message', (note: CopyNote) => notes.push(note));
  for (const order of [...orders, { kind: 'end' }]) worker.postMessage(order);
  await once(worker, 'exit');
  return notes.filter(({ kind }) => kind !== 'progress');
}

test('a thread says how its files ended, and ends when it is told', async () => {
  const root = newRoot();
  const right: CopyOrder = { kind: 'files', files: [file(1)] };
  const wrong: CopyOrder = { kind: 'files', files: [file(2, piece(3))] };
  expect(await inThread(root, [right, wrong, right])).toEqual([
    { kind: 'ready' },
    { kind: 'ready' },
    { kind: 'differs', path: 'file-2' },
    { kind: 'failed', code: 'EEXIST', message: expect.stringContaining('file-1') },
  ]);
  expect(await inThread(newRoot(), [right], true)).toEqual([{ kind: 'ready' }, { kind: 'stopped' }]);
});
