import { availableParallelism } from 'node:os';
import { setImmediate as turn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Fault } from '../../core/errors.ts';
import { programFile } from '../../core/home.ts';
import {
  type CopyNote,
  type CopyOrder,
  type CopyPlaces,
  type CopyRequest,
  FileCopier,
  type FileToCopy,
} from './file-copier.ts';
import type { WholeSum } from './checksums.ts';

/** Besides this one. */
const mostThreads = 3;
/** What is done in one go. */
const batchBytes = 32 * 1_048_576;
const batchFiles = 512;
/** Bytes after which this thread sees what others want. */
const turnBytes = 1_048_576;

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
  const requests = [...requestsFor(files, whole)];
  const places: CopyPlaces = { fd, root, stop: new Int32Array(new SharedArrayBuffer(4)) };
  const problems: unknown[] = [];
  const stop = (): void => void Atomics.store(places.stop, 0, 1);
  const failed = (problem: unknown): void => {
    problems.push(problem);
    stop();
  };
  signal.addEventListener('abort', stop, { once: true });
  const threads = Math.min(requests.length - 1, mostThreads, Math.max(1, availableParallelism() - 1));
  // A thread takes a while to start; this one has begun by then.
  const inThreads = Array.from({ length: threads }, () => copyInThread(copying, places, requests).catch(failed));
  await Promise.all([...inThreads, copyHere(copying, places, requests).catch(failed)]);
  signal.removeEventListener('abort', stop);
  signal.throwIfAborted();
  if (problems.length > 0) throw problems[0];
}

async function copyHere({ name, progress }: Copying, places: CopyPlaces, requests: CopyRequest[]): Promise<void> {
  let since = 0;
  const copier = new FileCopier(places, {
    pause(bytes) {
      since += bytes;
      if (since < turnBytes) return undefined;
      since = 0;
      return turn();
    },
    wrote: progress,
  });
  for (let request = requests.shift(); request; request = requests.shift()) {
    const outcome = await copier.fulfil(request);
    if (outcome.kind === 'stopped') return;
    if (outcome.kind === 'differs') throw differs(name, outcome.path);
  }
}

async function copyInThread({ name, progress }: Copying, places: CopyPlaces, requests: CopyRequest[]): Promise<void> {
  const worker = new Worker(programFile('images/media/copy-thread'), { workerData: places });
  const exit = new Promise((resolve) => worker.once('exit', resolve));
  const order = (what: CopyOrder): void => worker.postMessage(what);
  try {
    await new Promise<void>((resolve, reject) => {
      worker.on('error', reject);
      worker.on('message', (note: CopyNote) => {
        if (note.kind === 'progress') progress(note.bytes);
        else if (note.kind === 'differs') reject(differs(name, note.path));
        else if (note.kind === 'failed') reject(Object.assign(new Error(note.message), { code: note.code }));
        else {
          const request = note.kind === 'ready' ? requests.shift() : undefined;
          if (request) order(request);
          else resolve();
        }
      });
    });
  } finally {
    // It ends by itself: terminating one that is loading a native library would abort the whole process.
    order({ kind: 'end' });
    await exit;
  }
}

/** The sum of the whole medium takes longest, so it begins first. */
function* requestsFor(files: readonly FileToCopy[], whole: WholeSum | undefined): Iterable<CopyRequest> {
  if (whole) yield { kind: 'whole', sum: whole };
  let batch: FileToCopy[] = [];
  let bytes = 0;
  for (const file of files) {
    batch.push(file);
    bytes += file.size;
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
  return new Fault(
    'invalid',
    `${name} is damaged: ${what} does not match what the medium itself says. Download it again.`,
  );
}
