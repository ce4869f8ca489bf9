import { expect, test } from 'vitest';
import { nearest } from '../../src/core/nearest.ts';

const known = ['rack', 'unit', 'mgt', 'domain', 'groups', 'nodelist'];

test.each([
  ['rak', 'rack'],
  ['domian', 'domain'],
  ['Groups', 'groups'],
  ['nodelsit', 'nodelist'],
  ['nodelistt', 'nodelist'],
  ['mg', undefined],
  ['xyz', undefined],
  ['', undefined],
  ['x'.repeat(1_000_000), undefined],
])('%.20s: %s', (word, meant) => {
  expect(nearest(word, known)).toBe(meant);
});
