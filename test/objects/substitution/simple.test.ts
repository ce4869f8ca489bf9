import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compilePattern } from '../../../src/core/patterns.ts';
import { compileSimple, translate } from '../../../src/objects/substitution/simple.ts';

test.each([
  [String.raw`node(\d+)`, true],
  [String.raw`^\D+(\d+)$`, true],
  [String.raw`\D+(\d+).*$`, true],
  ['^.*$', true],
  [String.raw`\z`, true],
  [String.raw`r(\d+)k((\d+)c(\d+))`, true],
  [String.raw`[a-z]+(\d+)-?`, true],
  [String.raw`(\d+)(\d+)`, false],
  [String.raw`\D*(\d+)\D*(\d+)`, false],
  ['a|b', false],
  ['(ab)+', false],
  ['a+?', false],
  [String.raw`\d{2}`, false],
  ['(?:a)', false],
  [String.raw`\bnode`, false],
  ['a^b', false],
  ['a$b', false],
  ['(a', false],
  ['a)', false],
  ['é?', false],
])('%s is matched without the general engine: %s', (source, simple) => {
  const general = { exec: () => undefined, test: () => false };
  expect(compileSimple(source, general) !== undefined).toBe(simple);
});

test('finds the same as the general engine', () => {
  const one = fc.constantFrom(
    'a',
    'n',
    '1',
    '-',
    '.',
    '\\d',
    '\\D',
    '\\w',
    '\\W',
    '\\.',
    '[a-z]',
    '[^0-9]',
    '[:a-]',
    '\\-',
  );
  const item = fc.tuple(one, fc.constantFrom('', '', '+', '*', '?')).map((parts) => parts.join(''));
  const group = fc.array(item, { maxLength: 2 }).map((items) => `(${items.join('')})`);
  const body = fc.array(fc.oneof(item, group), { maxLength: 4 }).map((parts) => parts.join(''));
  const source = fc
    .tuple(fc.constantFrom('', '', '^'), body, fc.constantFrom('', '', '$', '\\z', '.*$'))
    .map((parts) => parts.join(''));
  const name = fc.oneof(
    fc.array(fc.constantFrom('a', 'n', 'A', '1', '0', '-', '.', '_'), { maxLength: 8 }).map((parts) => parts.join('')),
    fc.array(fc.constantFrom('a', '1', 'é', '\n'), { maxLength: 4 }).map((parts) => parts.join('')),
  );
  let taken = 0;
  fc.assert(
    fc.property(source, fc.array(name, { minLength: 5, maxLength: 10 }), (text, names) => {
      const general = compilePattern(text, 'test');
      const simple = compileSimple(text, general);
      if (simple === undefined) return;
      taken++;
      for (const each of names) {
        expect(simple.exec(each)).toEqual(general.exec(each));
        expect(simple.test(each)).toBe(general.test(each));
      }
    }),
    { numRuns: 2000 },
  );
  expect(taken).toBeGreaterThan(300);
});

test.each([
  [String.raw`\Z`, String.raw`\z`],
  [String.raw`a\\Z`, String.raw`a\\Z`],
  [String.raw`\Q\Z\E\Z`, String.raw`\Q\Z\E\z`],
  [String.raw`\h+\H`, String.raw`[ \t]+[^ \t]`],
  [String.raw`[\ha]`, String.raw`[ \ta]`],
  [String.raw`[]\h]`, String.raw`[] \t]`],
  ['a(?#why)b', 'ab'],
  ['[(?#x)]', '[(?#x)]'],
  ['(?^:a)', '(?:a)'],
  [String.raw`node(\d+)`, String.raw`node(\d+)`],
])('the Perl pattern %s is written %s', (source, expected) => {
  expect(translate(source)).toBe(expected);
});
