import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Draw, spread } from '../../../src/nodes/power-budgets/spread.ts';

const node = (name: string, drawn: number | undefined, cap: Draw['cap'], highest = drawn): Draw => ({
  node: name,
  drawn,
  highest,
  cap,
});
const wide = { least: 100, most: 1_000 };

it.each([
  ['by what they draw', 1_000, [node('a', 300, wide), node('b', 100, wide)], { a: 700, b: 300 }, 0],
  [
    'up to the most of each',
    1_500,
    [node('a', 300, { least: 100, most: 400 }), node('b', 100, wide)],
    { a: 400, b: 1_000 },
    0,
  ],
  [
    'behind those that cannot be capped, at their highest',
    1_000,
    [node('a', 200, undefined, 500), node('b', 9, wide)],
    { b: 500 },
    0,
  ],
  ['never below the least', 150, [node('a', 300, wide), node('b', 300, wide)], { a: 100, b: 100 }, 50],
  ['also to those that draw nothing', 420, [node('a', 0, wide), node('b', 0, wide)], { a: 210, b: 210 }, 0],
  ['nothing where even the others take more', 400, [node('a', 500, undefined)], {}, 100],
])('is divided %s', (_, budget, draws, caps, missing) => {
  const found = spread(budget, draws);
  expect(Object.fromEntries(found.caps)).toEqual(caps);
  expect(found.missing).toBe(missing);
});

it('is never exceeded if it can be held, and no node is below its least or above its most', () => {
  const anyCap = fc.record({ least: fc.integer({ min: 1, max: 500 }), more: fc.integer({ min: 0, max: 2_000 }) });
  const anyDraw = fc.record({ drawn: fc.option(fc.nat(2_000), { nil: undefined }), cap: fc.option(anyCap) });
  fc.assert(
    fc.property(fc.nat(50_000), fc.array(anyDraw, { maxLength: 30 }), (budget, drawn) => {
      const draws = drawn.map(({ drawn: watts, cap }, index) =>
        node(`n${index}`, watts, cap ? { least: cap.least, most: cap.least + cap.more } : undefined),
      );
      const { caps, uncapped, missing } = spread(budget, draws);
      const all = [...caps.values()].reduce((sum, cap) => sum + cap, uncapped);
      expect(all).toBeLessThanOrEqual(budget + missing);
      for (const { node: name, cap } of draws) {
        if (!cap) continue;
        expect(caps.get(name)).toBeGreaterThanOrEqual(cap.least);
        expect(caps.get(name)).toBeLessThanOrEqual(cap.most);
      }
    }),
  );
});
