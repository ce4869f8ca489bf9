import { expect, it } from 'vitest';
import { EventRate } from '../../../src/nodes/hardware-events/event-rate.ts';

it('passes on a burst, then what comes slowly, and says how many it left out', () => {
  let now = 0;
  const rate = new EventRate(() => now);
  const passed = Array.from({ length: 100 }, () => rate.pass('a')).filter((leftOut) => leftOut !== undefined);
  expect(passed).toHaveLength(30);
  expect(rate.pass('b')).toBe(0);
  now += 2_000;
  expect(rate.pass('a')).toBe(70);
  expect(rate.pass('a')).toBeUndefined();
});

it('bounds what all devices send together', () => {
  const rate = new EventRate(() => 0);
  let passed = 0;
  for (let device = 0; device < 2_000; device++) if (rate.pass(`d${device}`) !== undefined) passed++;
  expect(passed).toBe(1_000);
});
