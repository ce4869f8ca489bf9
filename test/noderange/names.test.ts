import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Names } from '../../src/noderange/names.ts';

const of = (list: readonly string[]): Names => {
  const names = new Names();
  for (const name of list) names.add(name);
  return names;
};
const sorted = (set: ReadonlySet<string>) => [...set].sort();

describe('names are a set', () => {
  test('whatever is added, however often', () => {
    const lists = fc.array(fc.constantFrom('a', 'b', 'B', 'a1', 'a10', 'a2', 'é', ''), { maxLength: 20 });
    fc.assert(
      fc.property(lists, lists, (a, b) => {
        const [setA, setB] = [new Set(a), new Set(b)];
        expect(of(a).list()).toEqual(sorted(setA));
        expect(of(a).size).toBe(setA.size);
        expect(of(a).isEmpty).toBe(a.length === 0);
        expect(of(a).intersection(of(b)).list()).toEqual(sorted(setA.intersection(setB)));
        expect(of(a).difference(of(b)).list()).toEqual(sorted(setA.difference(setB)));
      }),
    );
  });

  test.each([
    ['all different', 30_000],
    ['some twice', 20_000],
    ['the same again and again', 300],
  ])('thousands of them, %s', (_, different) => {
    const list = Array.from({ length: 30_000 }, (__, i) => `n${(i * 7) % different}`);
    const names = of(list);
    const set = new Set(list);
    expect(names.exceeds(different - 1)).toBe(true);
    expect(names.exceeds(different)).toBe(false);
    expect(names.list()).toEqual(sorted(set));
    names.add('m');
    names.add('n0');
    expect(names.size).toBe(different + 1);
    expect(names.list().slice(0, 2)).toEqual(['m', 'n0']);
    expect(names.isEmpty).toBe(false);
    const odd = of(list.filter((name) => /[13579]$/.test(name)));
    expect(names.difference(odd).size + names.intersection(odd).size).toBe(different + 1);
  });
});
