import * as fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, test } from 'vitest';
import { type PatternSize, patternSize } from '../../src/core/pattern-size.ts';

/** What the engine makes of it: steps, and ranges in all of them. */
function compiledSize(source: string): PatternSize | undefined {
  try {
    const compiled = RE2JS.compile(source);
    const steps: readonly { readonly runes: ArrayLike<number> | null }[] = compiled.re2().prog.inst;
    return {
      steps: compiled.programSize(),
      ranges: steps.reduce((total, { runes }) => total + Math.ceil((runes?.length ?? 0) / 2), 0),
    };
  } catch {
    return undefined;
  }
}

const wide = '[B-\\x{000000000001E800}]';

describe('the size of a pattern is never less than what the engine makes of it', () => {
  test.each([
    '',
    'n1',
    'a|b|',
    '^node(\\d+)$',
    '()()()',
    '(a*)*(b*)*',
    '\\Qa.b{9}\\Ec{9}',
    '\\Q{9}',
    'x{0,99}y{3,}z{7}?',
    '(?:(?:a{5}b){5}c){5}',
    'a{,5}b{x}c{',
    '[[:alpha:]_-]{20}',
    '[]a]{20}[^]a]{20}',
    '[^\\pL\\d\\x{41}-\\x{5a}]{20}',
    '\\pL{5}\\P{Greek}{5}\\p{^Lu}{5}',
    '(?i)(ks|[a-f]|\\w){20}',
    '(?i)[^\\pLa-z]{9}',
    '(?P<name>\\S{9})(?<other>\\D{9})',
    '(?i:a{9})(?-i)(?s).{9}(?U)b+',
    '\\x41\\x{1F600}\\101{9}\\.\\-\\t',
    '\u{1F600}{9}[\u{1F600}-\u{1F64F}]{9}',
    `${'('.repeat(200)}a{2}${')'.repeat(200)}`,
  ])('%s', (source) => {
    const compiled = compiledSize(source);
    const { steps, ranges } = patternSize(source);
    expect(steps).toBeGreaterThanOrEqual(compiled!.steps);
    expect(ranges).toBeGreaterThanOrEqual(compiled!.ranges);
  });

  test('whatever it is put together from', () => {
    const atoms = [
      'a',
      '\\d',
      '\\W',
      '\\pN',
      '[a-f]',
      '[^a\\pLu]',
      '.',
      '^',
      '$',
      '\\b',
      '\\Qx+\\E',
      '[[:^word:]-]',
      'é',
      '|',
      '',
    ];
    const atom = fc.constantFrom(...atoms);
    const repeat = fc.constantFrom('', '', '*', '+?', '?', '{3}', '{0,4}', '{2,}', '{0}', '{1,1}?');
    const { pattern } = fc.letrec<{ pattern: string; piece: string }>((tie) => ({
      pattern: fc.array(tie('piece'), { maxLength: 5 }).map((pieces) => pieces.join('')),
      piece: fc.oneof(
        { weight: 3, arbitrary: fc.tuple(atom, repeat).map(([text, times]) => (text === '' ? '' : text + times)) },
        {
          weight: 1,
          arbitrary: fc
            .tuple(fc.constantFrom('(', '(?:', '(?i:', '(?P<g>', '(?i)('), tie('pattern'), repeat)
            .map(([open, inner, times]) => `${open}${inner})${times}`),
        },
      ),
    }));
    fc.assert(
      fc.property(pattern, (source) => {
        const compiled = compiledSize(source);
        if (!compiled) return;
        const { steps, ranges } = patternSize(source);
        expect(steps).toBeGreaterThanOrEqual(compiled.steps);
        expect(ranges).toBeGreaterThanOrEqual(compiled.ranges);
      }),
      { numRuns: 2_000 },
    );
  });

  test('for any text there is one', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'()[]{}\\|?*+-^$.:,09apPQExi<>é'.split('')), maxLength: 60 }),
        (source) => {
          const { steps, ranges } = patternSize(source);
          expect(steps).toBeGreaterThan(0);
          expect(ranges).toBeGreaterThanOrEqual(0);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('what a pattern costs beyond its text is counted', () => {
  test.each([
    ['repetitions', 'a{1000}', 1_000, 1_000],
    ['repetitions in repetitions', '(?:(?:a{10}){10}){10}', 1_000, 1_000],
    ['classes, each time they are repeated', '\\pL{990}', 990, 600_000],
    ['classes in brackets', '[\\pL\\pN]{100}', 100, 70_000],
    ['characters that are looked at for their other cases', `(?i)${wide}${wide}`, 2, 15_000],
  ])('%s', (_, source, steps, ranges) => {
    const size = patternSize(source);
    expect(size.steps).toBeGreaterThanOrEqual(steps);
    expect(size.ranges).toBeGreaterThanOrEqual(ranges);
  });

  test('and not much more than it costs', () => {
    for (const source of ['n[0-9]{4}', '^(rack|row)\\d+$', 'a'.repeat(1_000), Array(200).fill('n12').join('|')]) {
      const { steps, ranges } = patternSize(source);
      expect(steps).toBeLessThan(3 * source.length);
      expect(ranges).toBeLessThan(3 * source.length);
    }
  });
});
