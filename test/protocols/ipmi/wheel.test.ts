import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Sleeper, Wheel } from '../../../src/protocols/ipmi/wheel.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function sleeper(): Sleeper & { woken: number[] } {
  const woken: number[] = [];
  return {
    due: Number.POSITIVE_INFINITY,
    turn: Number.POSITIVE_INFINITY,
    woken,
    awake: (now) => woken.push(now),
  };
}

const wheel = (busy = () => false): { wheel: Wheel; now: () => number } => {
  const start = Date.now();
  const now = (): number => Date.now() - start;
  return { wheel: new Wheel(now, busy), now };
};

test('a sleeper is woken once, not before its time and at most a turn later', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 60_000 }), { maxLength: 20 }), (dues) => {
      const { wheel: one, now } = wheel();
      const sleepers = dues.map(() => sleeper());
      const begin = now();
      sleepers.forEach((each, index) => one.set(each, begin + dues[index]!));
      vi.advanceTimersByTime(61_000);
      for (const [index, { woken }] of sleepers.entries()) {
        expect(woken).toHaveLength(1);
        expect(woken[0]! - begin - dues[index]!).toBeGreaterThanOrEqual(0);
        expect(woken[0]! - begin - dues[index]!).toBeLessThanOrEqual(41);
      }
      one.stop();
    }),
    { numRuns: 30 },
  );
});

test('a time that moves counts as it was set last', () => {
  const { wheel: one } = wheel();
  const [later, earlier, never] = [sleeper(), sleeper(), sleeper()];
  one.set(later, 100);
  one.set(later, 1_000);
  one.set(earlier, 30_000);
  one.set(earlier, 200);
  one.set(never, 100);
  one.set(never, Number.POSITIVE_INFINITY);
  vi.advanceTimersByTime(60_000);
  expect(later.woken.map((at) => Math.round(at / 100))).toEqual([10]);
  expect(earlier.woken.map((at) => Math.round(at / 100))).toEqual([2]);
  expect(never.woken).toEqual([]);
});

test('a sleeper can be set again when it is woken', () => {
  const { wheel: one, now } = wheel();
  const each = sleeper();
  each.awake = (at) => {
    each.woken.push(at);
    if (each.woken.length < 5) one.set(each, now() + 500);
  };
  one.set(each, 500);
  vi.advanceTimersByTime(10_000);
  expect(each.woken).toHaveLength(5);
});

test('nobody is woken while packets wait to be read', () => {
  let busy = true;
  const { wheel: one } = wheel(() => busy);
  const each = sleeper();
  one.set(each, 100);
  vi.advanceTimersByTime(300);
  expect(each.woken).toEqual([]);
  busy = false;
  vi.advanceTimersByTime(50);
  expect(each.woken).toHaveLength(1);
});

test('time in which this process was blocked does not pass for those who wait', () => {
  let time = 0;
  const one = new Wheel(
    () => time,
    () => false,
  );
  const [soon, later] = [sleeper(), sleeper()];
  one.set(soon, 100);
  one.set(later, 5_000);
  // The timer for 100 comes at 60,000.
  time = 60_000;
  vi.advanceTimersByTime(101);
  expect(soon.woken).toHaveLength(1);
  expect(later.woken).toEqual([]);
  expect(one.now()).toBe(200);
  time += 4_790;
  vi.advanceTimersByTime(4_790);
  expect(later.woken).toEqual([]);
  time += 40;
  vi.advanceTimersByTime(41);
  expect(later.woken).toHaveLength(1);
});

test('time in which this machine was too busy does not pass for those who wait', () => {
  const start = Date.now();
  const one = new Wheel(
    () => Date.now() - start,
    () => false,
    (elapsed) => elapsed / 2,
  );
  const each = sleeper();
  one.set(each, 1_000);
  vi.advanceTimersByTime(1_900);
  expect(each.woken).toEqual([]);
  vi.advanceTimersByTime(200);
  expect(each.woken).toHaveLength(1);
});

test('a stall is counted once, whoever sees it first', () => {
  let time = 0;
  const one = new Wheel(
    () => time,
    () => false,
    (elapsed) => 0.9 * elapsed,
  );
  const each = sleeper();
  one.set(each, 100);
  // The processors were others' until 1,050; a packet is read before the timer comes.
  time = 1_050;
  expect(one.now()).toBeCloseTo(105, 5);
  vi.advanceTimersByTime(101);
  expect(one.now()).toBeCloseTo(105, 5);
  expect(each.woken).toHaveLength(1);
});

test('sockets are read between a timer and those it wakes', () => {
  let unread = 0;
  const { wheel: one } = wheel(() => unread > 0);
  const each = sleeper();
  one.set(each, 100);
  // What the timer does not see yet, since it comes before the sockets.
  setTimeout(() => (unread = 1), 100);
  vi.advanceTimersByTime(110);
  expect(each.woken).toEqual([]);
  unread = 0;
  vi.advanceTimersByTime(50);
  expect(each.woken).toHaveLength(1);
});

test('time passes slowly while packets wait to be read', () => {
  let busy = true;
  const { wheel: one, now } = wheel(() => busy);
  const [first, second] = [sleeper(), sleeper()];
  one.set(first, 100);
  one.set(second, 900);
  vi.advanceTimersByTime(1_000);
  expect(first.woken).toEqual([]);
  expect(now() - one.now()).toBeGreaterThan(600);
  busy = false;
  vi.advanceTimersByTime(50);
  expect([first.woken.length, second.woken.length]).toEqual([1, 0]);
  vi.advanceTimersByTime(700);
  expect(second.woken).toHaveLength(1);
});

test('packets without end do not keep anybody from being woken', () => {
  const { wheel: one } = wheel(() => true);
  const each = sleeper();
  one.set(each, 100);
  vi.advanceTimersByTime(1_500);
  expect(each.woken).toHaveLength(1);
});

test('a far time that is set while turns are made up for is kept', () => {
  let busy = true;
  const { wheel: one, now } = wheel(() => busy);
  const sleepers = Array.from({ length: 10 }, () => sleeper());
  for (const [index, each] of sleepers.entries()) {
    each.awake = (at) => {
      each.woken.push(at);
      if (each.woken.length < 2) one.set(each, now() + 25_000);
    };
    one.set(each, 100 + 20 * index);
  }
  vi.advanceTimersByTime(400);
  busy = false;
  vi.advanceTimersByTime(30_000);
  expect(sleepers.map(({ woken }) => woken.length)).toEqual(sleepers.map(() => 2));
});

test('an empty wheel has no timer', () => {
  const { wheel: one } = wheel();
  one.set(sleeper(), 100);
  vi.advanceTimersByTime(200);
  expect(vi.getTimerCount()).toBe(0);
});
