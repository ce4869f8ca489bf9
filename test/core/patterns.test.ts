import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import { compilePattern, PatternAllowance } from '../../src/core/patterns.ts';
import { patternSize } from '../../src/core/pattern-size.ts';
import { faultOf } from '../harness/fault-of.ts';

const names = Array.from({ length: 3_000 }, (_, i) => `n${String(i + 1).padStart(6, '0')}`);
/** Text in which every place looks different to a pattern that remembers the last hundred characters. */
const noise = (length: number): string => {
  let seed = 12_345;
  return Array.from({ length }, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return 'ab01'[Math.floor(seed / 65_536) % 4];
  }).join('');
};

describe('patterns as administrators write them', () => {
  const table: [source: string, hit: string, miss: string | undefined][] = [
    ['^n\\d+$', 'n17', 'm17'],
    ['node[0-9]{2,4}', 'node0123', 'node1'],
    ['^(rack|row)(\\d{1,3})[a-f]?$', 'rack12b', 'rack12g'],
    ['r\\d{2}c\\d{2}n\\d{2}(-ib\\d)?', 'r01c02n03-ib0', 'r1c2n3'],
    ['^10\\.(\\d{1,3}\\.){2}\\d{1,3}$', '10.1.2.3', '10.1.2'],
    ['^([0-9a-f]{2}:){5}[0-9a-f]{2}$', '52:54:00:00:00:01', '52:54:00:00:00'],
    ['(?i)^rhels?9\\.[0-9]+$', 'RHELS9.4', 'sles15'],
    ['^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[a-z]{2,63}$', 'n1.cluster.example', 'n1'],
    ['^[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}$', '00000000-0000-0000-0000-00000000000A', 'x'],
    ['\\b(bmc|bmcpassword|mgt)=', '-t node -o n1 bmc=10.0.0.1', 'rack=r1'],
    ['^-t node -o n[1-3](,n[1-3]){0,20} (rack|comments)=\\S*$', '-t node -o n1,n2 rack=r1', '-t node -o n4 rack=r1'],
    ['^.{1,255}$', 'a', ''],
    ['^[\\pL\\pN ._-]{1,8}$', 'Käse 12', 'a/b'],
    [names.slice(0, 120).join('|'), 'n000007', 'm'],
    [`^(?:${names.slice(0, 120).join('|')})$`, 'n000120', 'n000121'],
    ['x'.repeat(1_024), 'x'.repeat(1_024), 'x'],
    ['a?b*'.repeat(256), 'ab', undefined],
    ['(a)'.repeat(341), 'a'.repeat(341), 'a'],
  ];
  test.each(table.map(([source, ...texts]) => [source.slice(0, 60), source, ...texts] as const))(
    '%s',
    (_, source, hit, miss) => {
      const pattern = compilePattern(source, 'here');
      expect(pattern.test(hit)).toBe(true);
      if (miss !== undefined) expect(pattern.test(miss)).toBe(false);
    },
  );

  test('every pattern in the cases of ranges and policies fits many times over', () => {
    const texts = ['noderange-cases.json', 'noderange-dataset.json', 'policy-cases.json'].map((file) =>
      readFileSync(join(import.meta.dirname, '../data', file), 'utf8'),
    );
    const found = texts.flatMap((text) => [...text.matchAll(/(?:[=!]~|"\/|"parameters": ")([^"]+)"/g)]);
    expect(found.length).toBeGreaterThan(10);
    for (const [, source = ''] of found) expect(patternSize(source).steps).toBeLessThan(200);
  });
});

describe('a pattern that is too large is refused before it is compiled', () => {
  const table: [source: string, sentence: RegExp][] = [
    ['\\pL{990}'.repeat(120), /119,\d{3} steps and 95,040,000 ranges/],
    ['\\pL{990}', /792,000 ranges of characters/],
    ['(?:abcdef){500}', /steps .* 2,000 and 20,000 are allowed; repeat less/],
    [`(?i)${'[B-\\x{1E800}]'.repeat(70)}`, /too large/],
    ['[\\pL\\pN]|'.repeat(100), /too large/],
  ];
  test.each(table.map(([source, sentence]) => [source.slice(0, 40), source, sentence] as const))(
    '%s',
    (_, source, sentence) => {
      const fault = faultOf(() => compilePattern(source, 'Rule 7'));
      expect(fault.kind).toBe('invalid');
      expect(fault.message).toMatch(/^Rule 7: the pattern is too large/);
      expect(fault.message).toMatch(sentence);
    },
  );

  test('patterns that come together share what is allowed', () => {
    const together = new PatternAllowance();
    for (let i = 0; i < 10; i++) compilePattern(`a{200}b${i}`, 'here');
    for (let i = 0; i < 9; i++) compilePattern(`a{200}b${i}`, 'here', together);
    expect(faultOf(() => compilePattern('a{200}b9', 'the tenth', together)).message).toMatch(
      /^the tenth: the pattern is too large together with the others here: .* 2,000 steps/,
    );
  });

  test('where more is allowed together, one is bounded all the same', () => {
    const many = new PatternAllowance({ steps: 100_000, ranges: 1_000_000 });
    for (let i = 0; i < 50; i++) compilePattern(`a{400}b${i}`, 'here', many);
    expect(() => compilePattern('(?:abcdef){500}', 'here', many)).toThrow(/too large: /);
  });
});

describe('a pattern for which each text needs new tables', () => {
  // For seven characters of a name, and for the last hundred of a text, it matters which they were.
  const ofNames = `(?:[13579].{6}|[02468].{5}|[01234].{4}|[0156].{4}|[5-9].{3}|[569].{5}|${'[qz]?'.repeat(150)})[yz]`;
  const ofTexts = '[a0].{100}[yz]';

  test('goes on without them and then is refused, instead of taking ever longer', () => {
    const pattern = compilePattern(ofNames, 'here');
    const fault = faultOf(() => {
      for (const name of names) expect(pattern.test(name)).toBe(false);
    });
    expect(fault.message).toMatch(/^here: matching the pattern would take too long; repeat less/);
    expect(faultOf(() => pattern.test(noise(16_384))).kind).toBe('invalid');
  });

  test('still finds what there is while its allowance lasts', () => {
    const pattern = compilePattern(ofTexts, 'here');
    expect(pattern.test(`${noise(500)}${'b'.repeat(101)}y`)).toBe(false);
    expect(pattern.test(`${noise(300)}a${'b'.repeat(100)}y`)).toBe(true);
    expect(() => pattern.test(noise(16_384))).toThrow(Fault);
  });

  test('spends nobody else his allowance, though it is compiled once', () => {
    const first = compilePattern(ofTexts, 'here');
    expect(() => {
      for (let i = 0; i < 20; i++) first.test(noise(8_000));
    }).toThrow(Fault);
    expect(compilePattern(ofTexts, 'there').test(`a${'b'.repeat(100)}y`)).toBe(true);
    expect(compilePattern(ofTexts, 'there').test(noise(8_000))).toBe(false);
  });

  test('is never refused where lines must be judged whatever they cost', () => {
    const pattern = compilePattern(ofTexts, 'here', new PatternAllowance({ work: Number.POSITIVE_INFINITY }));
    for (let i = 0; i < 3; i++) expect(pattern.test(noise(16_000))).toBe(false);
    expect(pattern.test(`${noise(16_000)}a${'b'.repeat(100)}y`)).toBe(true);
  });
});

test('ordinary patterns cost nothing of the allowance, however many and long the texts', () => {
  const pattern = compilePattern('^n0*[1-9]{3}$|[ab][01]x', 'here');
  const long = noise(16_384);
  for (let i = 0; i < 200; i++) expect(pattern.test(long)).toBe(false);
  expect(names.filter((name) => pattern.test(name))).toHaveLength(729);
});

test('more patterns than are kept give the right answers', () => {
  const compiled = Array.from({ length: 600 }, (_, i) => compilePattern(`^a{${i % 300}}b${i}$`, 'here'));
  for (const [i, pattern] of compiled.entries()) {
    expect(pattern.test(`${'a'.repeat(i % 300)}b${i}`)).toBe(true);
    expect(compilePattern(`^a{${i % 300}}b${i}$`, 'here').test(`b${i}b`)).toBe(false);
  }
});
