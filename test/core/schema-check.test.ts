import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { schemaCheck } from '../../src/core/schema-check.ts';

const check = schemaCheck(
  Type.Object({
    name: Type.String({ pattern: '^[a-z]+$' }),
    sizes: Type.Array(Type.Integer()),
    at: Type.Object({ by: Type.String() }),
    note: Type.Optional(Type.String()),
    labels: Type.Optional(Type.Record(Type.String(), Type.Union([Type.Null(), Type.String()]))),
  }),
);
const good = { name: 'a', sizes: [1, 2], at: { by: 'root' } };

test.each([
  ['all members', good],
  ['members that are optional', { ...good, note: 'n', labels: { a: null } }],
  ['members that nobody knows', { ...good, other: 1 }],
])('a schema takes %s', (_, value) => {
  expect(check.is(value)).toBe(true);
  expect(check.wrongAt(value)).toBe('');
});

test.each([
  ['the value itself', [], ''],
  ['nothing', null, ''],
  ['a member', { ...good, name: 1 }, 'name'],
  ['a missing member', { sizes: [], at: good.at }, 'name'],
  ['an optional member', { ...good, note: 1 }, 'note'],
  ['an item', { ...good, sizes: [1, 'x', 'y'] }, 'sizes.1'],
  ['a member of a member', { ...good, at: {} }, 'at.by'],
  ['a member of any name', { ...good, labels: { a: null, 'b/~': 1 } }, 'labels.b/~'],
])('a schema says that %s is wrong', (_, value, place) => {
  expect(check.is(value)).toBe(false);
  expect(check.wrongAt(value)).toBe(place);
});

test('inherited members do not count', () => {
  const named = schemaCheck(Type.Object({ constructor: Type.Unknown() }));
  expect(named.is({})).toBe(false);
  expect(named.is({ constructor: 1 })).toBe(true);
});
