import { once } from 'node:events';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';

const inThread = "require('node:worker_threads').parentPort.postMessage(require('node:module').getCompileCacheDir())";

/** Where the process of long work and its threads find compiled modules. Node has a directory there for each of its versions. */
export async function work(): Promise<{ process: string; thread: string }> {
  const [thread] = (await once(new Worker(inThread, { eval: true }), 'message')) as [string | undefined];
  return { process: dirname(getCompileCacheDir() ?? ''), thread: dirname(thread ?? '') };
}
