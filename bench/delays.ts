import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Muster } from './server.ts';

/** Options of a server whose `longestDelay` can be asked for. */
export const watchDelays: readonly string[] = ['--import', join(import.meta.dirname, 'loop-delay.ts')];

/** The longest time, in milliseconds, that the server's event loop was held up since this was asked last. */
export async function longestDelay(muster: Muster): Promise<number> {
  process.kill(muster.pid, 'SIGUSR2');
  await wait(200);
  return Number(/longest delay ([\d.]+) ms\n$/.exec(muster.output())?.[1]);
}
