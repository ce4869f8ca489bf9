import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { programFile } from '../../core/home.ts';

/** Reads the whole database beside those who work with it. Answers what SQLite says is wrong; undefined: nothing. */
export async function checkIntegrity(file: string): Promise<string | undefined> {
  const worker = new Worker(programFile('database/sqlite/integrity-thread'), { workerData: file });
  try {
    const [verdict] = (await once(worker, 'message')) as [string];
    return verdict === 'ok' ? undefined : verdict.split('\n')[0];
  } finally {
    await worker.terminate();
  }
}
