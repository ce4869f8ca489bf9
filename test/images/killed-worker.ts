// Does a piece of work and dies before a certain change of the file system, as if it were killed.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { directWork } from '../harness/work.ts';

const { module, job, after } = workerData as { module: string; job: unknown; after: number };
/** Of two paths that a change has, what lies at the first stays there unless it is moved. */
const changes = { rename: 0, link: 1, rm: 0, rmdir: 0, mkdir: 0, unlink: 0, symlink: 1 };
let done = 0;

/** What happens in a staging is seen by nobody. */
function counted<F extends (...args: never[]) => unknown>(change: F, first: number): F {
  return ((...args: never[]) => {
    const paths = args.slice(first).filter((each) => typeof each === 'string') as string[];
    if (paths.some((path) => !path.includes('/.muster-')) && done++ >= after) process.exit(1);
    return change(...args);
  }) as F;
}

for (const holder of [fs, fs.promises] as unknown as Record<string, (...args: never[]) => unknown>[])
  for (const [name, first] of Object.entries(changes))
    for (const each of [name, `${name}Sync`]) if (holder[each]) holder[each] = counted(holder[each], first);
syncBuiltinESMExports();

const { work } = (await import(module)) as { work(job: unknown, task: unknown): Promise<unknown> };
done = 0;
await work(job, directWork());
parentPort!.postMessage('done');
