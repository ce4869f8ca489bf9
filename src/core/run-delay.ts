import { openSync, readSync } from 'node:fs';

/** Linux tells of each thread: nanoseconds at work, nanoseconds it waited for a processor, and how often it got one. */
const file = '/proc/thread-self/schedstat';
const text = Buffer.alloc(64);
let descriptor: number | undefined;

/** Milliseconds that this thread has waited for a processor while others had it; always 0 where the system does not tell. */
export function runDelay(): number {
  try {
    // It stays open: what it holds is written anew at each reading.
    descriptor ??= openSync(file, 'r');
    const length = readSync(descriptor, text, 0, text.length, 0);
    return Number(text.latin1Slice(0, length).split(' ', 2)[1] ?? 0) / 1e6;
  } catch {
    descriptor = -1;
    return 0;
  }
}
