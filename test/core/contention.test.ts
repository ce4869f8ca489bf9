import { expect, test } from 'vitest';
import { Contention, scheduled } from '../../src/core/contention.ts';

/** A thread that, in each step of 100 ms, works and waits so many milliseconds in so many turns. */
function thread(ran: number, waited: number, turns: number) {
  const step = { ran, waited, turns };
  let now = { ran: 0, waited: 0, turns: 0 };
  const contention = new Contention(() => now);
  return {
    step,
    lost(steps: number): number {
      let lost = 0;
      for (let count = 0; count < steps; count++) {
        now = { ran: now.ran + step.ran, waited: now.waited + step.waited, turns: now.turns + step.turns };
        lost += contention.lost(100);
      }
      return lost / steps;
    },
  };
}

test.each([
  ['sleeps on an idle machine', 1, 0.1, 10],
  ['is at work on an idle machine', 100, 0, 1],
  ['sleeps and has nothing to do', 0, 0, 0],
])('nothing is lost to a thread that %s', (_, ran, waited, turns) => {
  expect(thread(ran, waited, turns).lost(50)).toBeLessThan(1);
});

test('what it waits is lost', () => {
  expect(thread(50, 50, 10).lost(20)).toBeCloseTo(50, 0);
});

test('a thread that mostly sleeps and waits long for each turn tells how others fare that share the processors', () => {
  // It asks for 8 ms and gets two of them.
  expect(thread(2, 6, 2).lost(20)).toBeCloseTo(75, 0);
});

test('a part of the time always passes', () => {
  expect(thread(0.1, 99.9, 1).lost(50)).toBeCloseTo(90, 0);
});

test('it is over when the machine has time again', () => {
  const one = thread(1, 9, 1);
  expect(one.lost(20)).toBeGreaterThan(80);
  Object.assign(one.step, { ran: 10, waited: 0.1, turns: 10 });
  one.lost(50);
  expect(one.lost(10)).toBeLessThan(1);
});

test('the system tells of this thread', () => {
  const before = scheduled();
  const end = performance.now() + 50;
  while (performance.now() < end);
  const after = scheduled();
  expect(after.ran + after.waited).toBeGreaterThan(before.ran + before.waited);
});
