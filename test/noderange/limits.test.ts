import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import { expand, expandSyntactic } from '../../src/noderange/index.ts';
import { plainCluster } from './dataset.ts';

const all = Array.from({ length: 100_000 }, (_, i) => `n${i + 1}`);
const big = { ...plainCluster(all), group: (name: string) => (name === 'all' ? all : undefined) };

function milliseconds(action: () => unknown): number {
  const start = performance.now();
  action();
  return performance.now() - start;
}

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
    for (const verify of [true, false]) {
      const spent = milliseconds(() => expect(() => expand(text, big, { verify })).toThrow(Fault));
      expect(spent).toBeLessThan(10_000);
    }
  });

  test('just at the limit it is accepted, one above it is not', () => {
    expect(expand('x[1-10]', plainCluster(), { verify: false, limit: 10 }).nodes).toHaveLength(10);
    expect(expand('x[1-10],-x[1-10],y[1-10]', plainCluster(), { verify: false, limit: 20 }).nodes).toHaveLength(10);
    expect(() => expand('x[1-10],y', plainCluster(), { verify: false, limit: 10 })).toThrow(Fault);
    expect(() => expand('x[1-10],y', plainCluster(), { limit: 10 })).toThrow(Fault);
  });
});

describe('odd texts of great length end quickly', () => {
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
    expect(milliseconds(() => expand(text, plainCluster()))).toBeLessThan(2000);
  });
});

describe('speed', () => {
  test('100,000 names of a range and of a group', () => {
    expandSyntactic('n1-n100000');
    for (const text of ['n1-n100000', 'n[1-100000]', 'all']) {
      let nodes: string[] = [];
      expect(milliseconds(() => (nodes = expand(text, big).nodes))).toBeLessThan(1000);
      expect(nodes).toHaveLength(100_000);
    }
  });

  test('a plain name costs next to nothing in a big cluster', () => {
    expect(milliseconds(() => repeat(100_000, () => expand('n500', big)))).toBeLessThan(500);
  });
});

function repeat(times: number, action: () => void): void {
  for (let i = 0; i < times; i++) action();
}
