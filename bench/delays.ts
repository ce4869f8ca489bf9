import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Muster } from './server.ts';

/** Options of a server whose `longestDelay` can be asked for. */
export const watchDelays: readonly string[] = ['--import', join(import.meta.dirname, 'loop-delay.ts')];

const line = /longest delay ([\d.]+) ms\n/g;

/** The longest time, in milliseconds, that the server's event loop was held up since this was asked last. */
export async function longestDelay(muster: Muster): Promise<number> {
  const figures = (): string[] => [...muster.output().matchAll(line)].map(([, figure]) => figure!);
  const known = figures().length;
  process.kill(muster.pid, 'SIGUSR2');
  while (figures().length === known) await wait(50);
  return Number(figures().at(-1));
}
