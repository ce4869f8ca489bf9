import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byText, SortedMap } from '../../src/database/sorted-map.ts';

/** Keys of three lengths that share prefixes, so that changes meet within blocks and across their borders. */
const key = fc.nat(2_000).map((n) => `n${String(n).padStart(n % 3, '0')}`);
const entry = fc.tuple(key, fc.option(fc.nat(3), { nil: undefined }));
/** One change takes a way of its own. */
const changes = fc.oneof(fc.array(entry, { maxLength: 400 }), fc.tuple(entry));
const steps = fc.array(changes, { maxLength: 6 });

const entriesOf = (map: ReadonlyMap<string, number>) => [...map].sort(([a], [b]) => byText(a, b));

function applied(model: ReadonlyMap<string, number>, change: readonly (readonly [string, number | undefined])[]) {
  const next = new Map(model);
  for (const [name, value] of change) {
    if (value === undefined) next.delete(name);
    else next.set(name, value);
  }
  return next;
}

/** A thousand keys to begin with, so that there are several blocks. */
const full = new Map(Array.from({ length: 1_000 }, (_, i) => [`n${i * 2}`, i] as const));

describe.each([
  ['from nothing', new Map<string, number>()],
  ['from many blocks', full],
])('a sorted map and a plain one, changed alike, %s', (_title, initial) => {
  test('hold the same in the order of the keys', () => {
    fc.assert(
      fc.property(steps, key, (sequence, probe) => {
        let model: ReadonlyMap<string, number> = initial;
        let map = SortedMap.fromEntries(initial);
        for (const change of sequence) {
          model = applied(model, change);
          map = map.with(new Map(change));
          expect(map.size).toBe(model.size);
          expect([...map.entries()]).toEqual(entriesOf(model));
        }
        expect(map.keys()).toEqual(entriesOf(model).map(([name]) => name));
        expect(map.values()).toEqual(entriesOf(model).map(([, value]) => value));
        const even = entriesOf(model).filter(([, value]) => value % 2 === 0);
        expect(map.keysWhere((value) => value % 2 === 0)).toEqual(even.map(([name]) => name));
        expect(map.get(probe)).toBe(model.get(probe));
        expect(map.has(probe)).toBe(model.has(probe));
        const begins = entriesOf(model).filter(([name]) => name.startsWith(probe));
        expect(map.startingWith(probe)).toEqual(begins.map(([, value]) => value));
      }),
      { numRuns: 60 },
    );
  });

  test('a version stays as it was when a later one is made from it', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const versions: [SortedMap<number>, [string, number][]][] = [];
        let map = SortedMap.fromEntries(initial);
        for (const change of sequence) {
          versions.push([map, [...map.entries()]]);
          map = map.with(new Map(change));
        }
        for (const [version, entries] of versions) expect([...version.entries()]).toEqual(entries);
      }),
      { numRuns: 30 },
    );
  });

  test('the changed keys of two versions, in either direction, are those with another value', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const before = SortedMap.fromEntries(initial);
        const after = sequence.reduce((map, change) => map.with(new Map(change)), before);
        const names = new Set([...before.keys(), ...after.keys()]);
        const expected = [...names].filter((name) => before.get(name) !== after.get(name)).sort();
        expect(SortedMap.changedKeys(before, after).sort()).toEqual(expected);
        expect(SortedMap.changedKeys(after, before).sort()).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });
});

test('two maps that share nothing have their differing keys compared by value', () => {
  const one = SortedMap.fromEntries([...full]);
  const other = SortedMap.fromEntries([...full].map(([name, value]) => [name, name === 'n500' ? -1 : value] as const));
  expect(SortedMap.changedKeys(one, other)).toEqual(['n500']);
});

test('sorted input makes the same map as entries in any order', () => {
  const entries = [...full].sort(([a], [b]) => byText(a, b));
  const sorted = SortedMap.fromSorted(
    entries.map(([name]) => name),
    entries.map(([, value]) => value),
  );
  expect([...sorted.entries()]).toEqual([...SortedMap.fromEntries([...full].reverse()).entries()]);
});

test('an empty map has nothing in it, and nothing begins with anything', () => {
  const empty = SortedMap.empty<number>();
  expect([empty.size, empty.get('a'), empty.has('a'), empty.keys(), empty.startingWith('')]).toEqual([
    0,
    undefined,
    false,
    [],
    [],
  ]);
  expect(empty.with(new Map([['a', undefined]])).size).toBe(0);
});
