import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Handshakes } from '../../../src/protocols/redfish/handshakes.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Begins so many, and tells which have begun and how to end them. */
function begin(count: number) {
  const handshakes = new Handshakes();
  const begun = new Map<number, () => void>();
  for (let i = 0; i < count; i++) handshakes.begin((over) => void begun.set(i, over));
  return begun;
}

test('64 begin at once, and the others as these end, in turn', () => {
  const begun = begin(70);
  expect(begun.size).toBe(64);
  begun.get(3)!();
  begun.get(3)!();
  expect([...begun.keys()].slice(64)).toEqual([64]);
  begun.get(64)!();
  expect([...begun.keys()].slice(64)).toEqual([64, 65]);
});

test('those that wait for a silent BMC do not hold up the others', () => {
  const begun = begin(150);
  vi.advanceTimersByTime(249);
  expect(begun.size).toBe(64);
  vi.advanceTimersByTime(1);
  expect(begun.size).toBe(128);
  vi.advanceTimersByTime(250);
  expect(begun.size).toBe(150);
});
