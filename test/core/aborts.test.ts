import { expect, test } from 'vitest';
import { unwatchAbort, watchAbort } from '../../src/core/waiting.ts';

test('those who still wait hear of the end of a signal in the order they came, in whatever order others have left', () => {
  const controller = new AbortController();
  const told: number[] = [];
  const all = Array.from({ length: 8 }, (_, number) => ({ aborted: () => void told.push(number) }));
  for (const one of all) watchAbort(controller.signal, one);
  for (const number of [0, 7, 3, 3, 5]) unwatchAbort(controller.signal, all[number]!);
  watchAbort(controller.signal, all[3]!);
  controller.abort();
  expect(told).toEqual([1, 2, 4, 6, 3]);
});

test('whoever leaves while others are told does not keep them from hearing it', () => {
  const controller = new AbortController();
  const told: number[] = [];
  const all = Array.from({ length: 4 }, (_, number) => ({
    aborted: () => {
      told.push(number);
      for (const one of all) unwatchAbort(controller.signal, one);
    },
  }));
  for (const one of all) watchAbort(controller.signal, one);
  controller.abort();
  expect(told).toEqual([0, 1, 2, 3]);
});
