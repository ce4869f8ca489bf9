import type { Cargo } from './cargo.ts';

/** Bytes in a millisecond that a node takes at least, and that all who are sent to at once take together: they share a line. */
const slowest = 1_024;
const slowestTogether = 32 * 1_024;
/** Milliseconds for an item: a node far away takes some answers' time, and many nodes at once take turns here. */
const perItem = 100;
const perItemTogether = 5;

/** Milliseconds that sending cargo to so many nodes at once may take each of them, beyond the usual deadline. */
export function copyAllowance({ items, size }: Cargo, atOnce: number): number {
  const forBytes = size * Math.max(1 / slowest, atOnce / slowestTogether);
  return Math.ceil(forBytes + items.length * Math.max(perItem, atOnce * perItemTogether));
}
