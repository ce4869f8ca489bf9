import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { asTheyCome } from '../../src/core/as-they-come.ts';
import { limiter } from '../../src/core/limiter.ts';

test('a limiter runs no more than its width at a time, all of it, in order, failures too', async () => {
  const limited = limiter(3);
  const begun: number[] = [];
  let running = 0;
  let most = 0;
  const work = Array.from({ length: 50 }, (_, i) =>
    limited(async () => {
      begun.push(i);
      most = Math.max(most, ++running);
      await pause(1);
      running--;
      if (i % 10 === 7) throw new Error(`number ${i}`);
      return i;
    }),
  );
  const results = await Promise.allSettled(work);
  expect(most).toBe(3);
  expect(begun).toEqual(begun.toSorted((a, b) => a - b));
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(5);
  expect(await limited(() => Promise.resolve('again'))).toBe('again');
});

test('a limiter goes on after a failure, and nothing is left running', async () => {
  const limited = limiter(3);
  let now = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    most = Math.max(most, ++now);
    await new Promise((resolve) => setImmediate(resolve));
    now--;
  };
  await Promise.all(Array.from({ length: 20 }, () => limited(work)));
  await expect(limited(() => Promise.reject(new Error('x')))).rejects.toThrow('x');
  await limited(work);
  expect([most, now]).toEqual([3, 0]);
});

test('results come in the order they are there, no more at a time than the width', async () => {
  let running = 0;
  let most = 0;
  const seen: number[] = [];
  const work = async (delay: number): Promise<number> => {
    most = Math.max(most, ++running);
    await pause(delay);
    running--;
    return delay;
  };
  for await (const delays of asTheyCome([120, 5, 60], 2, work)) seen.push(...delays);
  expect(seen).toEqual([5, 60, 120]);
  expect(most).toBe(2);
});

test('a failure ends it, and so does a reader who leaves', async () => {
  const begun: number[] = [];
  const work = async (item: number): Promise<number> => {
    begun.push(item);
    await pause(1);
    if (item === 3) throw new Error('broken');
    return item;
  };
  const all = async (): Promise<void> => {
    for await (const _ of asTheyCome([1, 2, 3, 4, 5, 6, 7, 8], 1, work));
  };
  await expect(all()).rejects.toThrow('broken');
  expect(begun).toEqual([1, 2, 3]);
  for await (const items of asTheyCome([10, 11, 12, 13], 1, work)) if (items.includes(10)) break;
  await pause(20);
  expect(begun).not.toContain(13);
});
