import { describe, expect, test } from 'vitest';
import {
  anything,
  count,
  integer,
  listOf,
  nullOr,
  objectOf,
  objectWith,
  oneOf,
  recordOf,
  text,
  textLike,
  textUpTo,
} from '../../src/core/shape.ts';

const isFile = objectWith(
  { name: textLike(/^[a-z]+$/), kind: oneOf('plain', 'link'), sizes: listOf(integer), at: objectOf({ by: text }) },
  { note: text, more: anything, labels: recordOf(nullOr(text)) },
);
const good = { name: 'a', kind: 'plain', sizes: [1, 2], at: { by: 'root' } };

describe('a shape', () => {
  test.each([
    ['all members', good],
    ['members that are optional', { ...good, note: 'n', more: null }],
    ['members that nobody knows', { ...good, other: 1 }],
    ['an empty list', { ...good, sizes: [] }],
  ])('takes %s', (_, value) => expect(isFile(value)).toBe(true));

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a list', [good]],
    ['a text', 'a'],
    ['a missing member', { ...good, at: undefined }],
    ['a text of another form', { ...good, name: '../a' }],
    ['a number for a text', { ...good, name: 1 }],
    ['a word that is none of them', { ...good, kind: 'pipe' }],
    ['a fraction for an integer', { ...good, sizes: [1.5] }],
    ['an object for a list', { ...good, sizes: { 0: 1 } }],
    ['one wrong piece of a list', { ...good, sizes: [1, '2'] }],
    ['something wrong further down', { ...good, at: { by: 1 } }],
    ['an optional member that is wrong', { ...good, note: 1 }],
  ])('refuses %s', (_, value) => expect(isFile(value)).toBe(false));

  test.each([
    ['a count', count, [0, 7], [-1, 1.5, '1', 2 ** 60]],
    ['a text that may be so long', textUpTo(2), ['', 'ab'], ['abc', null]],
    ['null or a text', nullOr(text), [null, ''], [undefined, 1]],
    ['a list that may be so long', listOf(text, 1), [[], ['a']], [['a', 'b'], [1], {}]],
    ['texts by any name', recordOf(text), [{}, { a: 'b' }], [{ a: 1 }, [], null, 'a']],
  ] as const)('%s', (_, shape, taken, refused) => {
    for (const value of taken) expect(shape(value), JSON.stringify(value)).toBe(true);
    for (const value of refused) expect(shape(value), JSON.stringify(value)).toBe(false);
  });

  test.each([
    ['the value itself', [], ''],
    ['a member', { ...good, name: 1 }, 'name'],
    ['a missing member', {}, 'name'],
    ['an optional member', { ...good, note: 1 }, 'note'],
    ['an item', { ...good, sizes: [1, 'x', 'y'] }, 'sizes.1'],
    ['a member of a member', { ...good, at: {} }, 'at.by'],
    ['a member of any name', { ...good, labels: { a: null, b: 1 } }, 'labels.b'],
  ])('says that %s is wrong', (_, value, place) => {
    const wrong: string[] = [];
    expect(isFile(value, wrong)).toBe(false);
    expect(wrong.join('.')).toBe(place);
  });

  test('says nothing of what is right', () => {
    const wrong: string[] = [];
    expect(isFile(good, wrong)).toBe(true);
    expect(wrong).toEqual([]);
  });

  test('looks at own members only', () => {
    const isNamed = objectOf({ constructor: anything });
    expect(isNamed({})).toBe(false);
    expect(isNamed({ constructor: 1 })).toBe(true);
    expect(objectWith({}, { toString: text })({})).toBe(true);
  });
});
