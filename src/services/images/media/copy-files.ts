import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { Fault } from '../../../core/errors.ts';
import type { CopyNote, CopyRequest, CopyThreadData, FileToCopy } from './copying.ts';
import type { WholeSum } from './whole-sum.ts';

const mostThreads = 4;
/** What a thread is given at a time. */
const batchBytes = 32 * 1_048_576;
const batchFiles = 512;

export interface Copying {
  /** Of the medium, and its name. */
  readonly fd: number;
  readonly name: string;
  /** An own directory, in which all directories of the files exist. */
  readonly root: string;
  readonly files: readonly FileToCopy[];
  readonly whole: WholeSum | undefined;
  readonly signal: AbortSignal;
  progress(bytes: number): void;
}

/** Writes the files of a medium, verifying what can be verified on the way. The first thing that goes wrong ends it. */
export async function copyFiles(copying: Copying): Promise<void> {
  const { fd, root, files, whole, signal } = copying;
  signal.throwIfAborted();
  if (files.length === 0) return;
  const requests = [...requestsFor(files, whole)];
  const threads = Math.min(requests.length, mostThreads, Math.max(2, availableParallelism()));
  const workers: Worker[] = [];
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const data: CopyThreadData = { fd, root, stop };
  try {
    await new Promise<void>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      let busy = 0;
      const next = (worker: Worker): void => {
        const request = requests.shift();
        if (request) worker.postMessage(request);
        else if (--busy === 0) resolve();
      };
      for (let number = 0; number < threads; number++) {
        const worker = new Worker(new URL('./copy-thread.ts', import.meta.url), { workerData: data });
        workers.push(worker);
        busy++;
        worker.on('error', reject);
        worker.on('message', (note: CopyNote) => {
          if (note.kind === 'progress') copying.progress(note.bytes);
          else if (note.kind === 'done') next(worker);
          else reject(problem(copying, note));
        });
        next(worker);
      }
    });
  } finally {
    // A thread ends by itself: terminating one that is loading a native library would abort the whole process.
    Atomics.store(stop, 0, 1);
    await Promise.all(workers.map((worker) => ended(worker)));
  }
}

async function ended(worker: Worker): Promise<void> {
  if (worker.threadId === -1) return;
  const exit = new Promise((resolve) => worker.once('exit', resolve));
  worker.postMessage({ kind: 'end' } satisfies CopyRequest);
  await exit;
}

/** The sum of the whole medium takes longest, so it begins first. */
function* requestsFor(files: readonly FileToCopy[], whole: WholeSum | undefined): Iterable<CopyRequest> {
  if (whole) yield { kind: 'whole', sum: whole };
  let batch: FileToCopy[] = [];
  let bytes = 0;
  for (const file of files) {
    batch.push(file);
    for (const { length } of file.extents) bytes += length;
    if (bytes < batchBytes && batch.length < batchFiles) continue;
    yield { kind: 'files', files: batch };
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield { kind: 'files', files: batch };
}

/** Of a file, or of the medium as a whole. */
export function differs(name: string, path: string | undefined): Fault {
  const what = path === undefined ? 'its MD5 sum' : `the checksum of "${path}"`;
  return new Fault('invalid', `${name} is damaged: ${what} is not as the medium itself says. Fetch it again.`);
}

function problem({ name }: Copying, note: Extract<CopyNote, { kind: 'differs' | 'failed' }>): Error {
  if (note.kind === 'differs') return differs(name, note.path);
  return Object.assign(new Error(note.message), { code: note.code });
}
