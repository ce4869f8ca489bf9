import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import type { PatternAllowance } from '../../src/core/patterns.ts';
import { type Cluster, type Criterion, criterionTest, expand } from '../../src/noderange/index.ts';
import { plainCluster } from './dataset.ts';

const all = Array.from({ length: 100_000 }, (_, i) => `n${i + 1}`);
const big = { ...plainCluster(all), group: (name: string) => (name === 'all' ? all : undefined) };

/** How often a cluster may be asked for a name before a range is refused: the names that may be made, each by what it may be. */
const mostLookups = 10_000_000;

describe('a range that asks for too much is refused at once', () => {
  test.each(
    [
      ['n1-n999999999'],
      ['n1-n99999999999999999999999999'],
      [`n[1-9${'0'.repeat(250)}]`],
      ['n1+999999999'],
      [`n1+${'9'.repeat(400)}`],
      [`${'1'.repeat(100_000)}a+1`],
      ['n[1-1000]x[1-1000]x[1-1000]'],
      ['n[1-1000][1-1000][1-1000]'],
      [`n${'[1-9]'.repeat(300)}`],
      ['n[1-1000]-n999999'],
      [`n${'0'.repeat(300)}1-n${'0'.repeat(300)}2`],
      [`${'n'.repeat(300)}[1-2]`],
      [`a${'['.repeat(50_000)}1${']'.repeat(50_000)}`],
      [Array(20).fill('n1-n900000').join(',')],
      [Array(2000).fill('all').join(',')],
      [Array(11).fill('a.b==x').join(',')],
      ['('.repeat(100_000)],
      [`${'('.repeat(100_000)}n1${')'.repeat(100_000)}`],
      ['(n1)'.repeat(10_000)],
      [`${'(n1),'.repeat(150)}${'('.repeat(300)}n1${')'.repeat(300)}`],
    ].map(([text = '']) => ({ text, title: text.slice(0, 40) })),
  )('$title', ({ text }) => {
    let lookups = 0;
    const counting = {
      ...big,
      hasNode: (name: string) => ++lookups > 0 && big.hasNode(name),
      group: (name: string) => (++lookups > 0 ? big.group(name) : undefined),
    };
    for (const verify of [true, false]) expect(() => expand(text, counting, { verify })).toThrow(Fault);
    expect(lookups).toBeLessThan(mostLookups);
  });

  test('just at the limit it is accepted, one above it is not', () => {
    expect(expand('x[1-10]', plainCluster(), { verify: false, limit: 10 }).nodes).toHaveLength(10);
    expect(expand('x[1-10],-x[1-10],y[1-10]', plainCluster(), { verify: false, limit: 20 }).nodes).toHaveLength(10);
    expect(() => expand('x[1-10],y', plainCluster(), { verify: false, limit: 10 })).toThrow(Fault);
    expect(() => expand('x[1-10],y', plainCluster(), { limit: 10 })).toThrow(Fault);
  });
});

describe('patterns of one range', () => {
  const cluster = {
    ...big,
    select: (criterion: Criterion, patterns: PatternAllowance) => matching(criterion, patterns),
  };
  const matching = (criterion: Criterion, patterns: PatternAllowance) => all.filter(criterionTest(criterion, patterns));

  test.each([
    ['of names', (i: number) => `/n${i}a{300}`],
    ['of values', (i: number) => `a.b=~n${i}a{300}`],
  ])('may be large together only as much as one of them: %s', (_, piece) => {
    const range = (count: number) => Array.from({ length: count }, (__, i) => piece(i)).join(',');
    expect(expand(range(5), cluster).nodes).toEqual([]);
    expect(() => expand(range(8), cluster)).toThrow(
      /at column \d+ of the noderange: the pattern is too large together/,
    );
  });

  test('that would take long are refused by the piece that is to blame', () => {
    const ends = ['[13579].{4}', '[02468].{3}', '[01234].{3}', '[0156].{2}', '[5-9].{2}', '[qz]?'.repeat(150)];
    const text = `/${ends.map((end) => `.*${end}[yz]`).join('|')}`;
    expect(() => expand(`n1,${text}`, cluster)).toThrow(
      /at column 4 of the noderange: matching .* would take too long/,
    );
  });

  test('look at the same value once', () => {
    const criterion: Criterion = { table: 'a', column: 'b', op: '=~', value: '[a0].{100}[yz]', text: 'a.b=~x', at: 1 };
    const value = Array.from({ length: 8_000 }, (_, i) => 'ab01'[(i * i + (i >> 3)) % 4]).join('');
    const holds = criterionTest(criterion);
    for (let i = 0; i < 10_000; i++) expect(holds(value)).toBe(false);
  });
});

describe('where every name must be known', () => {
  const mostUnknown = 100;
  const asked = { names: 0 };
  const counting: Cluster = {
    ...big,
    hasNode(name) {
      asked.names++;
      return big.hasNode(name);
    },
  };

  test.each(['a[1-1000]b[1-999]', 'a1-a900000', 'a1+900000', 'n1-n100,a[1-900000]', '1-900000'])(
    'a range of names that nobody knows is left after a few of them: %s',
    (text) => {
      for (const verify of [true, false]) {
        asked.names = 0;
        expect(() => expand(text, counting, { verify, mostUnknown })).toThrow(
          expect.objectContaining({ kind: 'unknown-object', message: expect.stringMatching(/ and more than 50 more/) }),
        );
        expect(asked.names).toBeLessThan(5 * (mostUnknown + 100));
      }
    },
  );

  test('also of names that are given exactly', () => {
    asked.names = 0;
    expect(() => expand('[a]x[1-900000]', counting, { verify: false, mostUnknown })).toThrow(/more than 50 more/);
    expect(expand('[a]x[1-900000]', counting, { mostUnknown }).missed).toEqual(['[a]x[1-900000]']);
    expect(asked.names).toBeLessThan(5 * mostUnknown);
  });

  test('fewer unknown names are told as ever, and known ones are not counted', () => {
    expect(expand('n1-n9999,a[1-100]', big, { mostUnknown }).missed).toHaveLength(100);
    expect(expand('n1-n9999,a[1-100]', big, { mostUnknown, verify: false }).nodes).toHaveLength(10_099);
    expect(() => expand('n1-n9999,a[1-101]', big, { mostUnknown })).toThrow(/more than 50 more/);
  });

  test('names in a range file are counted by its lines', () => {
    const reading: Cluster = { ...big, file: () => ['a[1-5000]', 'n1-n5'] };
    expect(expand('^list', reading, { mostUnknown })).toEqual({ nodes: ['n1', 'n2', 'n3', 'n4', 'n5'], missed: [] });
  });
});

describe('odd texts of great length come to an end', () => {
  test.each(
    [
      ['['.repeat(100_000)],
      ['a['.repeat(50_000)],
      [`a${'[]'.repeat(50_000)}`],
      [','.repeat(100_000)],
      ['@'.repeat(100_000)],
      ['-'.repeat(100_001)],
      ['a@b,'.repeat(25_000)],
      [`${'a@b,'.repeat(25_000)}(c)`],
      ['(a)@b,'.repeat(15_000)],
      ['1-'.repeat(50_000)],
      ['1a'.repeat(50_000)],
      [')'.repeat(100_000)],
    ].map(([text = '']) => ({ text, title: text.slice(0, 20) })),
  )('$title', ({ text }) => {
    expect(() => expand(text, plainCluster())).not.toThrow();
  });
});

test.each(['n1-n100000', 'n[1-100000]', 'all'])('all nodes of a big cluster: %s', (text) => {
  expect(expand(text, big).nodes).toHaveLength(100_000);
});

test('a plain name is looked up once, however big the cluster is', () => {
  const asked: string[] = [];
  const asking = { ...big, hasNode: (name: string) => asked.push(name) > 0 && big.hasNode(name) };
  expect(expand('n500', asking).nodes).toEqual(['n500']);
  expect(asked).toEqual(['n500']);
});
