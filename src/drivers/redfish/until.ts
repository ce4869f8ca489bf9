import type { Fault } from '../../core/errors.ts';
import { pause } from '../../protocols/redfish/abort.ts';

const firstPause = 200;
const longestPause = 2_000;

/** Reads until what is read is as wanted, at growing intervals; after the time given, `late` says what is wrong. */
export async function until<T>(
  read: () => Promise<T>,
  reached: (value: T) => boolean,
  late: (value: T) => Fault,
  milliseconds: number,
  signal: AbortSignal,
): Promise<T> {
  const end = performance.now() + milliseconds;
  for (let wait = firstPause; ; wait = Math.min(wait * 1.4, longestPause)) {
    const value = await read();
    if (reached(value)) return value;
    const left = end - performance.now();
    if (left <= 0) throw late(value);
    await pause(Math.min(wait, left), signal);
  }
}
