import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { parseIp } from '../../../src/core/ip.ts';
import { makeResolve } from '../../../src/names/hosts/hosts-file.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const address = parseIp('10.0.0.1');

/** Looks names up with a name server that takes so long; the answer is how many it was asked for, and how many were found. */
async function lookUp(count: number, milliseconds: number): Promise<[asked: number, found: number]> {
  let asked = 0;
  const resolve = makeResolve(
    () => [],
    true,
    async () => {
      asked++;
      await new Promise((done) => setTimeout(done, milliseconds));
      return address;
    },
  );
  const all = Promise.all(Array.from({ length: count }, (_, i) => resolve(`n${i}`)));
  await vi.runAllTimersAsync();
  return [asked, (await all).filter((ip) => ip !== undefined).length];
}

test('a name server that answers is asked for every name, also if that takes longer than one is waited for', async () => {
  expect(await lookUp(5_000, 5)).toEqual([5_000, 5_000]);
});

test('one that is silent is not asked for ever', async () => {
  expect(await lookUp(100, 5_000)).toEqual([3, 3]);
});

test('nor is one that takes long for many', async () => {
  expect(await lookUp(1_000, 500)).toEqual([240, 240]);
});
