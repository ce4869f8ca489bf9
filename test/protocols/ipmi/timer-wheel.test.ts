import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Sleeper, TimerWheel } from '../../../src/protocols/ipmi/timer-wheel.ts';

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

const wheel = (busy = () => false): { wheel: TimerWheel; now: () => number } => {
  const start = Date.now();
  const now = (): number => Date.now() - start;
  return { wheel: new TimerWheel(now, busy), now };
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

test('the time in which this process was blocked is its lag', () => {
  let time = 0;
  const one = new TimerWheel(
    () => time,
    () => false,
  );
  const [soon, later] = [sleeper(), sleeper()];
  one.set(soon, 100);
  one.set(later, 5_000);
  time = 100;
  vi.advanceTimersByTime(101);
  expect([soon.woken, one.lag()]).toEqual([[100], 0]);
  // The timer for 5,000 comes at 8,000; a tenth of a second is usual.
  time = 8_000;
  vi.advanceTimersByTime(5_000);
  expect([later.woken, one.lag()]).toEqual([[8_000], 2_900]);
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

test('the time in which packets wait to be read is lag, counted once', () => {
  let busy = true;
  const { wheel: one } = wheel(() => busy);
  const each = sleeper();
  one.set(each, 100);
  vi.advanceTimersByTime(900);
  expect(each.woken).toEqual([]);
  expect(one.lag()).toBeGreaterThan(700);
  expect(one.lag()).toBeLessThanOrEqual(800);
  busy = false;
  vi.advanceTimersByTime(1_000);
  expect(each.woken).toHaveLength(1);
  expect(one.lag()).toBeLessThanOrEqual(800);
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
