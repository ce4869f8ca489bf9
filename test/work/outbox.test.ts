import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Batch } from '../../src/work/messages.ts';
import { Outbox } from '../../src/work/task.ts';

let sent: Batch[];
let outbox: Outbox;
beforeEach(() => {
  vi.useFakeTimers();
  sent = [];
  outbox = new Outbox((batch) => sent.push(batch));
});
afterEach(() => vi.useRealTimers());

test('what is told in one moment is sent together', () => {
  outbox.tell('a');
  outbox.progress(1, 3);
  outbox.tell('b');
  expect(sent).toEqual([]);
  vi.advanceTimersByTime(50);
  expect(sent).toEqual([{ lines: ['a', 'b'], done: 1, of: 3 }]);
  vi.advanceTimersByTime(1_000);
  expect(sent).toHaveLength(1);
  outbox.progress(2, 3);
  outbox.flush();
  expect(sent[1]).toEqual({ lines: [], done: 2, of: 3 });
});

test('of very many lines in one moment the first and the last are sent, with how many are missing', () => {
  for (let i = 0; i < 100_000; i++) outbox.tell(`line ${i}`);
  vi.advanceTimersByTime(50);
  const { lines } = sent[0]!;
  expect(lines).toHaveLength(102);
  expect(lines.slice(-2)).toEqual(['(99899 lines are left out here)', 'line 99999']);
  for (let i = 0; i < 100; i++) outbox.tell('z'.repeat(4_096));
  vi.advanceTimersByTime(50);
  expect(sent[1]!.lines.join('').length).toBeLessThan(30_000);
});

test.each([
  [Number.NaN, 1],
  [1, 0],
  [-1, 5],
  [1, Number.POSITIVE_INFINITY],
])('progress %d of %d says nothing', (done, of) => {
  outbox.progress(done, of);
  vi.advanceTimersByTime(50);
  expect(sent).toEqual([]);
});
