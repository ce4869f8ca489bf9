import { expect, it } from 'vitest';
import { type CargoItem, copyAllowance } from '../../../src/nodes/remote/cargo.ts';

const gigabyte = 1e9;
/** Bytes in a millisecond on a line of one gigabit per second. */
const line = 125_000;

it.each<[string, number, number, number, number]>([
  // bytes, files, nodes at once, milliseconds that are needed
  ['a large file to one node over a slow line', gigabyte, 1, 1, gigabyte / 1_024],
  ['a large file to many nodes that share a line', 2 * gigabyte, 1, 256, (2 * gigabyte * 256) / line],
  ['many small files to one node far away', 10_000, 10_000, 1, 10_000 * 4 * 20],
  ['many small files to many nodes', 10_000, 10_000, 256, 10_000 * 256 * 3],
])('leaves enough time for %s', (_name, size, files, atOnce, needed) => {
  const items = Array.from({ length: files }, () => ({}) as CargoItem);
  expect(copyAllowance({ items, size }, atOnce)).toBeGreaterThanOrEqual(needed);
});

it('leaves little for little', () => {
  expect(copyAllowance({ items: [{} as CargoItem], size: 1_000 }, 1)).toBeLessThan(1_000);
});
