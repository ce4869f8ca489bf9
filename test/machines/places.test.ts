import { expect, test } from 'vitest';
import { type SeenHypervisor, type SeenMachine, whereabouts } from '../../src/machines/places.ts';

const here: SeenMachine = { uuid: 'u1', isOn: false, isThere: true };
const running: SeenMachine = { ...here, isOn: true };
const gone: SeenMachine = { ...here, isThere: false };
const stranger: SeenMachine = { ...running, uuid: 'u2' };

const seen = (
  sights: Readonly<Record<string, SeenMachine | undefined>>,
  places: Readonly<Record<string, string>> = {},
) =>
  new Map(
    Object.entries(sights).map(([host, sight]): [string, SeenHypervisor] => [
      host,
      { place: places[host] ?? host, machines: new Map(sight ? [['m', sight]] : []) },
    ]),
  );

/** A machine whose home is `a` and that may move to `b`, `c` and `d`. */
const found = (sights: ReadonlyMap<string, SeenHypervisor>, uuid: string | undefined = 'u1') =>
  whereabouts({ name: 'm', home: 'a', uuid, mayMoveTo: (host) => ['b', 'c', 'd'].includes(host) }, sights);
const nobody = { movedTo: undefined, doubtful: [] };

test.each([
  ['runs at home', { a: running, b: here }, undefined],
  ['runs elsewhere, and is off at home', { a: here, b: running }, 'b'],
  ['is off at home and elsewhere', { a: here, b: here }, undefined],
  ['is gone from home and off elsewhere', { a: gone, b: here }, 'b'],
  ['is gone from home and nowhere else', { a: gone, b: undefined }, undefined],
  ['is gone from home and in two places', { a: gone, b: here, c: here }, undefined],
  ['runs in one of two places elsewhere', { a: gone, b: here, c: running }, 'c'],
  ['has the name of another machine elsewhere', { a: gone, b: stranger }, undefined],
])('a machine that %s is found', (_what, sights, movedTo) => {
  expect(found(seen(sights))).toEqual({ movedTo, doubtful: [] });
});

test.each([
  ['is off at home', { a: here, x: running }, { movedTo: undefined, doubtful: ['x'] }],
  ['runs at home', { a: running, x: running }, { movedTo: undefined, doubtful: ['x'] }],
  ['is gone from home', { a: gone, x: here }, { movedTo: undefined, doubtful: ['x'] }],
  ['was never seen at home', { a: undefined, x: running }, { movedTo: undefined, doubtful: ['x'] }],
  ['is at home, and off where it may not be', { a: here, x: here }, nobody],
  ['has moved, and is off where it may not be', { a: gone, b: running, x: here }, { movedTo: 'b', doubtful: [] }],
  ['has moved, and runs where it may not be', { a: gone, b: running, x: running }, { movedTo: 'b', doubtful: ['x'] }],
  ['has moved off, and runs where it may not be', { a: gone, b: here, x: running }, { movedTo: 'b', doubtful: ['x'] }],
  ['has only its name where it may not be', { a: here, x: stranger }, nobody],
])('a hypervisor that a machine may not move to is not believed: one that %s', (_what, sights, expected) => {
  expect(found(seen(sights))).toEqual(expected);
});

test('a machine without a UUID of its own is known by the one it had at home', () => {
  const byHome = (sights: Readonly<Record<string, SeenMachine | undefined>>) =>
    whereabouts({ name: 'm', home: 'a', uuid: undefined, mayMoveTo: () => true }, seen(sights)).movedTo;
  expect(byHome({ a: gone, b: running })).toBe('b');
  expect(byHome({ a: undefined, b: running })).toBeUndefined();
});

test('two names of one hypervisor are one place', () => {
  const places = { a: 'x', b: 'x', c: 'y', d: 'y', e: 'y' };
  expect(found(seen({ a: gone, b: running }, places))).toEqual(nobody);
  expect(found(seen({ a: gone, c: running, d: running, e: running }, places))).toEqual({ movedTo: 'c', doubtful: [] });
});

test('nothing is known as long as its home was not seen', () => {
  const sights = new Map<string, SeenHypervisor>([
    ...seen({ b: running, x: running }),
    ['a', { place: undefined, machines: new Map() }],
  ]);
  expect(found(sights)).toEqual(nobody);
});
