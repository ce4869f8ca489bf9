import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expand, expandSyntactic, fold } from '../../src/noderange/index.ts';
import { plainCluster } from './dataset.ts';

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe('fold', () => {
  test.each([
    [[], ''],
    [['login'], 'login'],
    [['n5'], 'n5'],
    [[...numbers(1, 100).map((i) => `n${i}`), 'n105'], 'n[1-100,105]'],
    [numbers(8, 12).map((i) => `n${String(i).padStart(2, '0')}`), 'n[08-12]'],
    [['n1', 'n01', 'n001', 'n2', 'n02'], 'n[1-2,01-02,001]'],
    [['n98', 'n99', 'n100'], 'n[98-100]'],
    [['n9', 'n010'], 'n[9,010]'],
    [['r1n1', 'r1n2', 'r2n1', 'r2n2'], 'r[1-2]n[1-2]'],
    [['r1n1', 'r1n2', 'r2n1'], 'r1n[1-2],r2n1'],
    [['rack1', 'rack2', 'login', 'n1.a', 'n2.a'], 'login,n[1-2].a,rack[1-2]'],
    [['io-node-1', 'io-node-2'], 'io-node-[1-2]'],
    [['7'], '[7]'],
    [['7', '8', '10'], '[7-8,10]'],
    [['1a', '2a'], '[1-2]a'],
    [['n1-n3'], '[n]1-n3'],
    [['n1-n3', 'n1-n4'], '[n]1-n[3-4]'],
    [['n1-n5', 'n2-n5'], '[n][1-2]-n5'],
    [['w-w'], '[w]-w'],
    [['1-3'], '[1]-3'],
    [['b', 'a', 'b'], 'a,b'],
  ])('%j', (names, text) => {
    expect(fold(names)).toBe(text);
  });

  const part = fc.oneof(
    fc.constantFrom('n', 'a', 'rack', 'x', '-', '-n', '_', '.c', '1', '0', '01', '10', '9', '99', '100', '001'),
    fc.nat(120).map(String),
    fc.nat(12).map((n) => String(n).padStart(3, '0')),
    fc.bigInt(1n, 10n ** 20n).map(String),
  );
  const name = fc
    .tuple(fc.constantFrom('n', 'a', 'r', '1', '0', '7', '_'), fc.array(part, { maxLength: 5 }))
    .map(([head, tail]) => head + tail.join(''));
  const run = fc
    .tuple(name, fc.nat(110), fc.nat(30), fc.constantFrom('', '-n', '-n5', '.c', 'x'), fc.constantFrom(0, 2, 3))
    .map(([head, from, count, tail, width]) =>
      Array.from({ length: count }, (_, i) => head + String(from + i).padStart(width, '0') + tail),
    );
  const names = fc.oneof(
    fc.array(name),
    fc.array(run, { maxLength: 4 }).map((runs) => runs.flat()),
  );

  test('is the inverse of expand for any set of node names', () => {
    fc.assert(
      fc.property(names, (set) => {
        const sorted = [...new Set(set)].sort();
        const text = fold(set);
        expect(expandSyntactic(text)).toEqual(sorted);
        expect(expand(text, plainCluster(), { verify: false })).toEqual({ nodes: sorted, missed: [] });
        expect(expand(text, plainCluster(sorted))).toEqual({ nodes: sorted, missed: [] });
        expect(text.length).toBeLessThanOrEqual(sorted.join(',').length + 2 * sorted.length);
      }),
      { numRuns: 2000 },
    );
  });

  test('folds 100,000 names, whether or not they fold well, in time that grows no faster than they do', () => {
    const hosts = numbers(0, 99_999);
    for (const set of [
      hosts.map((i) => `n${i}`),
      hosts.map((i) => `r${i % 100}c${i % 7}n${i}`),
      hosts.map((i) => `h${(i * 7919) % 1_000_003}x${i * 3}`),
    ]) {
      const start = performance.now();
      const text = fold(set);
      expect(performance.now() - start).toBeLessThan(10_000);
      expect(expandSyntactic(text)).toEqual(set.sort());
    }
  });
});
