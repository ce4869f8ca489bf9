import { createHash, type Hash } from 'node:crypto';
import { closeSync, constants, fchmodSync, futimesSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { beginWriting } from '../../../core/sync-file-system.ts';
import type { CopyNote, CopyRequest, CopyThreadData, FileToCopy } from './copying.ts';
import type { WholeSum } from './whole-sum.ts';

// Reading, hashing and writing one file after the other keeps one processor busy; there are several of these threads.

const { fd, root, stop } = workerData as CopyThreadData;
// What stays in the processor's cache is hashed and written for less.
const buffer = Buffer.allocUnsafeSlow(65_536);
const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Bytes after which progress is told. */
const progressStep = 8 * 1_048_576;
let untold = 0;

const tell = (note: CopyNote): void => parentPort!.postMessage(note);

function count(bytes: number): void {
  untold += bytes;
  if (untold < progressStep) return;
  tell({ kind: 'progress', bytes: untold });
  untold = 0;
}

parentPort!.on('message', (request: CopyRequest) => {
  try {
    if (request.kind === 'end') return parentPort!.close();
    if (request.kind === 'whole') {
      if (!isWhole(request.sum)) return tell({ kind: 'differs', path: undefined });
    } else {
      for (const file of request.files) {
        if (!copy(file)) return tell({ kind: 'differs', path: file.path });
      }
    }
    tell({ kind: 'progress', bytes: untold });
    untold = 0;
    tell({ kind: 'done' });
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    tell({ kind: 'failed', code, message });
  }
});

/** Whether it is as its checksum says. */
function copy({ path, extents, isExecutable, time, checksum }: FileToCopy): boolean {
  const hash = checksum && createHash(checksum.algorithm);
  const target = openSync(join(root, path), flags, 0o600);
  try {
    for (const { position, length } of extents) {
      each(position, length, (bytes) => {
        hash?.update(bytes);
        for (let at = 0; at < bytes.length; ) at += writeSync(target, bytes, at);
        count(bytes.length);
      });
    }
    fchmodSync(target, isExecutable ? 0o755 : 0o644);
    futimesSync(target, time, time);
    beginWriting(target);
  } finally {
    closeSync(target);
  }
  return hash === undefined || hash.digest('hex') === checksum!.digest;
}

function isWhole({ digest, length, blank }: WholeSum): boolean {
  const hash = createHash('md5');
  const plain = (position: number, end: number): Hash => {
    each(position, end - position, (bytes) => hash.update(bytes));
    return hash;
  };
  plain(0, blank.at).update(Buffer.alloc(blank.length, ' '));
  return plain(blank.at + blank.length, length).digest('hex') === digest;
}

function each(position: number, length: number, use: (bytes: Buffer) => void): void {
  for (let done = 0; done < length; ) {
    if (Atomics.load(stop, 0) === 1) throw new Error('the copy was stopped');
    const read = readSync(fd, buffer, 0, Math.min(buffer.length, length - done), position + done);
    if (read === 0) throw new Error('the medium became shorter');
    use(buffer.subarray(0, read));
    done += read;
  }
}
