import { expect, test } from 'vitest';
import { type HypervisorSight, placeOf, type Sight } from '../../../src/services/machines/places.ts';

const here: Sight = { uuid: 'u1', isOn: false, isThere: true };
const running: Sight = { ...here, isOn: true };
const gone: Sight = { ...here, isThere: false };
const stranger: Sight = { ...running, uuid: 'u2' };

const seen = (sights: Readonly<Record<string, Sight | undefined>>, ids: Readonly<Record<string, string>> = {}) =>
  new Map(
    Object.entries(sights).map(([host, sight]): [string, HypervisorSight] => [
      host,
      { id: ids[host] ?? host, machines: new Map(sight ? [['m', sight]] : []) },
    ]),
  );

test.each([
  ['runs at home', { a: running, b: here }, undefined],
  ['runs elsewhere, and is off at home', { a: here, b: running }, 'b'],
  ['is off at home and elsewhere', { a: here, b: here }, undefined],
  ['is gone from home and off elsewhere', { a: gone, b: here }, 'b'],
  ['is gone from home and nowhere else', { a: gone, b: undefined }, undefined],
  ['is gone from home and in two places', { a: gone, b: here, c: here }, undefined],
  ['runs in one of two places elsewhere', { a: gone, b: here, c: running }, 'c'],
  ['has the name of another machine elsewhere', { a: gone, b: stranger }, undefined],
])('a machine that %s is found', (_what, sights, place) => {
  expect(placeOf('m', 'a', 'u1', seen(sights))).toBe(place);
});

test('a machine without a UUID of its own is known by the one it had at home', () => {
  expect(placeOf('m', 'a', undefined, seen({ a: gone, b: running }))).toBe('b');
  expect(placeOf('m', 'a', undefined, seen({ a: undefined, b: running }))).toBeUndefined();
});

test('two names of one hypervisor are one place', () => {
  const ids = { a: 'x', b: 'x', c: 'y', d: 'y' };
  expect(placeOf('m', 'a', 'u1', seen({ a: gone, b: running }, ids))).toBeUndefined();
  expect(placeOf('m', 'a', 'u1', seen({ a: gone, c: running, d: running }, ids))).toBe('c');
});

test('nothing is known as long as its home was not seen', () => {
  const sights = new Map([...seen({ b: running }), ['a', { id: undefined, machines: new Map() }]] as const);
  expect(placeOf('m', 'a', 'u1', sights)).toBeUndefined();
});
