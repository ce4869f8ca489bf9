import '../../core/source-lines.ts';
import { parentPort, workerData } from 'node:worker_threads';
import { type CopyNote, type CopyOrder, type CopyPlaces, type CopyRequest, FileCopier } from './file-copier.ts';

/** Bytes after which progress is told. */
const progressStep = 8 * 1_048_576;
let untold = 0;

const copier = new FileCopier(workerData as CopyPlaces, {
  wrote(bytes) {
    untold += bytes;
    if (untold >= progressStep) tellProgress();
  },
});

const tell = (note: CopyNote): void => parentPort!.postMessage(note);

function tellProgress(): void {
  tell({ kind: 'progress', bytes: untold });
  untold = 0;
}

async function fulfil(request: CopyRequest): Promise<void> {
  try {
    const outcome = await copier.fulfil(request);
    tellProgress();
    tell(outcome);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    tell({ kind: 'failed', code, message });
  }
}

parentPort!.on('message', (order: CopyOrder) => {
  if (order.kind === 'end') parentPort!.close();
  else void fulfil(order);
});
tell({ kind: 'ready' });
