import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { atOnce, inSlices, mapInSlices, type Interruptible, Slices } from '../../src/core/slices.ts';

function spin(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

test('work is done in order, and others have their turn in between', async () => {
  const slices = new Slices();
  const done: number[] = [];
  for (let i = 0; i < 20; i++) {
    slices.add(() => {
      spin(6);
      done.push(i);
    });
  }
  let turns = 0;
  for (; done.length < 20; turns++) {
    const before = done.length;
    await turn();
    expect(done.length - before).toBeLessThanOrEqual(2);
  }
  expect(turns).toBeGreaterThanOrEqual(10);
  expect(done).toEqual(Array.from({ length: 20 }, (_, i) => i));
});

test('work that comes later, also from work itself, is done too', async () => {
  const slices = new Slices();
  const done: string[] = [];
  slices.add(() => {
    done.push('first');
    slices.add(() => void done.push('second'));
  });
  while (done.length < 2) await turn();
  slices.add(() => void done.push('third'));
  while (done.length < 3) await turn();
  expect(done).toEqual(['first', 'second', 'third']);
});

test('many items are made into others in order, and others have their turn in between', async () => {
  let turns = 0;
  let done = false;
  const others = (async () => {
    for (; !done; turns++) await turn();
  })();
  const made = await mapInSlices(
    Array.from({ length: 10 }, (_, i) => i),
    (item) => {
      spin(6);
      return item * 2;
    },
  );
  done = true;
  await others;
  expect(made).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
  expect(turns).toBeGreaterThanOrEqual(4);
  expect(await mapInSlices([], () => 1)).toEqual([]);
});

test('who waits for work gets what it returned or threw, and the rest goes on', async () => {
  const slices = new Slices();
  const failing = slices.run(() => {
    throw new Error('broken');
  });
  const good = slices.run(() => 42);
  await expect(failing).rejects.toThrow('broken');
  expect(await good).toBe(42);
});

describe('work that yields', () => {
  function* counting(to: number, milliseconds: number): Interruptible<number> {
    let count = 0;
    for (; count < to; count++) {
      spin(milliseconds);
      yield;
    }
    if (to === 13) throw new Error('unlucky');
    return count;
  }

  test('is done at once if it is short', () => {
    expect(inSlices(counting(3, 0))).toBe(3);
    expect(() => inSlices(counting(13, 0))).toThrow('unlucky');
    expect(atOnce(counting(20, 1))).toBe(20);
  });

  test('gives others their turn if it is long, as one among several', async () => {
    let turns = 0;
    const long = [inSlices(counting(12, 3)), inSlices(counting(12, 3)), inSlices(counting(13, 3))];
    for (const one of long) expect(one).toBeInstanceOf(Promise);
    const all = Promise.allSettled(long.map(async (one) => one));
    let done = false;
    void all.then(() => (done = true));
    for (; !done; turns++) await turn();
    expect(turns).toBeGreaterThanOrEqual(6);
    expect(await all).toMatchObject([{ value: 12 }, { value: 12 }, { reason: { message: 'unlucky' } }]);
  });
});
