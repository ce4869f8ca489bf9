import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, expect, test } from 'vitest';
import { copyFiles } from '../../../../src/services/images/media/copy-files.ts';
import type { CopyNote, CopyOrder, FileToCopy } from '../../../../src/services/images/media/copying.ts';
import { scratchDirectory } from '../../../harness/store.ts';

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

async function inThread(root: string, orders: readonly CopyOrder[], isStopped = false): Promise<CopyNote[]> {
  const stop = new Int32Array(new SharedArrayBuffer(4)).fill(isStopped ? 1 : 0);
  const worker = new Worker(new URL('../../../../src/services/images/media/copy-thread.ts', import.meta.url), {
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
