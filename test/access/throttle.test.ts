import { expect, test } from 'vitest';
import { Throttle, throttleLimits } from '../../src/access/throttle.ts';

const fail = () => Promise.resolve(undefined);
const settle = (outcome: Promise<unknown>) => outcome.catch((error: unknown) => error);

test('floods of names and addresses stay within bounds and the newest are kept', async () => {
  let now = 0;
  const throttle = new Throttle(() => now);
  const { maximumPairs, freeFailures } = throttleLimits;
  for (let i = 0; i < maximumPairs + 100; i++) await settle(throttle.attempt('root', `host${i}`, 'g', fail));
  for (let i = 1; i < freeFailures; i++) await settle(throttle.attempt('root', 'host0', `g${i}`, fail));
  expect(throttle.isFree('root', 'host0')).toBe(true);
  const newest = `host${maximumPairs + 99}`;
  for (let i = 1; i < freeFailures; i++) await settle(throttle.attempt('root', newest, `g${i}`, fail));
  expect(throttle.isFree('root', newest)).toBe(false);
  now += throttleLimits.firstDelay;
  expect(throttle.isFree('root', newest)).toBe(true);
});

test('while every entry is in use, newcomers are asked to come back', async () => {
  const throttle = new Throttle(() => 0);
  const { promise: gate, resolve: release } = Promise.withResolvers<undefined>();
  const running = Array.from({ length: throttleLimits.maximumPairs }, (_, i) =>
    settle(throttle.attempt('root', `host${i}`, 'g', () => gate)),
  );
  expect(() => throttle.attempt('root', 'late', 'g', fail)).toThrow(
    expect.objectContaining({ kind: 'unavailable', retryAfter: 1 }),
  );
  release(undefined);
  await Promise.all(running);
  expect(await settle(throttle.attempt('root', 'late', 'g', fail))).toMatchObject({ kind: 'unauthenticated' });
});

test('what succeeds leaves no trace', async () => {
  const throttle = new Throttle(() => 0);
  const found = { how: 'password' };
  for (let i = 0; i < 1000; i++) {
    expect(await throttle.attempt('root', 'host', `g${i}`, () => Promise.resolve(found))).toBe(found);
    expect(throttle.isFree('root', 'host')).toBe(true);
  }
});
