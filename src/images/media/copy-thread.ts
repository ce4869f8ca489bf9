import '../../core/source-lines.ts';
import { parentPort, workerData } from 'node:worker_threads';
import { type CopyNote, type CopyOrder, type CopyPlaces, type CopyRequest, FileCopier } from './file-copier.ts';

/** Bytes after which progress is reported. */
const progressStep = 8 * 1_048_576;
let unreported = 0;

const copier = new FileCopier(workerData as CopyPlaces, {
  wrote(bytes) {
    unreported += bytes;
    if (unreported >= progressStep) reportProgress();
  },
});

const report = (note: CopyNote): void => parentPort!.postMessage(note);

function reportProgress(): void {
  report({ kind: 'progress', bytes: unreported });
  unreported = 0;
}

async function fulfil(request: CopyRequest): Promise<void> {
  try {
    const outcome = await copier.fulfil(request);
    reportProgress();
    report(outcome);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    report({ kind: 'failed', code, message });
  }
}

parentPort!.on('message', (order: CopyOrder) => {
  if (order.kind === 'end') parentPort!.close();
  else void fulfil(order);
});
report({ kind: 'ready' });
