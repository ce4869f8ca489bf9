import { describe, expect, test } from 'vitest';
import { anything, integer, listOf, objectOf, objectWith, oneOf, text, textLike } from '../../src/core/shape.ts';

const isFile = objectWith(
  { name: textLike(/^[a-z]+$/), kind: oneOf('plain', 'link'), sizes: listOf(integer), at: objectOf({ by: text }) },
  { note: text, more: anything },
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

  test('looks at own members only', () => {
    const isNamed = objectOf({ constructor: anything });
    expect(isNamed({})).toBe(false);
    expect(isNamed({ constructor: 1 })).toBe(true);
    expect(objectWith({}, { toString: text })({})).toBe(true);
  });
});
