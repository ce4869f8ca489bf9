import { setTimeout as pause } from 'node:timers/promises';
import { processorTime, type Running } from './process.ts';

const patience = 10_000;

/** Lets a bare loop do its next round and returns its processor time in milliseconds. */
export async function bareRound({ pid, output }: Running, number: number): Promise<number> {
  const before = processorTime(pid);
  process.kill(pid, 'SIGUSR2');
  const until = performance.now() + patience;
  while (!output().includes(`round ${number}\n`)) {
    if (performance.now() > until) throw new Error(`Round ${number} does not end:\n${output()}`);
    await pause(10);
  }
  return processorTime(pid) - before;
}
