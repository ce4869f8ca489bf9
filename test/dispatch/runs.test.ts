import { beforeEach, describe, expect, test } from 'vitest';
import { Runs } from '../../src/dispatch/runs.ts';

let now: number;
let runs: Runs;
beforeEach(() => {
  now = 0;
  runs = new Runs({ limits: { age: 1_000, count: 10, memory: 100_000 }, now: () => now });
});

function finished(kind: 'query' | 'change' | 'per-node', user = 'anna'): string {
  const run = runs.begin('command', user, kind);
  runs.finish(run, 0);
  return run.id;
}

const isKept = (id: string): boolean => {
  try {
    runs.show(id, 'anna', false);
    return true;
  } catch {
    return false;
  }
};

describe.each(['query', 'change'] as const)('a run of a %s', (kind) => {
  test('is shown to its user and to who sees all, and to nobody else', () => {
    const id = finished(kind);
    expect(runs.show(id, 'anna', false)).toMatchObject({ id, user: 'anna', state: 'finished' });
    expect(runs.show(id, 'root', true)).toMatchObject({ id });
    expect(() => runs.show(id, 'bert', false)).toThrow(/no run/);
  });

  test('goes when it is too old', () => {
    const id = finished(kind);
    now = 999;
    runs.expire();
    expect(isKept(id)).toBe(true);
    now = 1_001;
    runs.expire();
    expect(isKept(id)).toBe(false);
  });

  test('goes when there are too many of its kind, the oldest first', () => {
    const ids = Array.from({ length: 12 }, () => finished(kind));
    expect(isKept(ids[0]!)).toBe(false);
    expect(isKept(ids[11]!)).toBe(true);
  });
});

test('many reads leave the results of work alone', () => {
  const work = runs.begin('rpower', 'anna', 'per-node');
  runs.add(work, { node: 'n1', value: ['on'] });
  runs.finish(work, 0);
  for (let i = 0; i < 50; i++) finished('query');
  expect(runs.show(work.id, 'anna', false)).toMatchObject({ ok: 1, results: [{ node: 'n1' }] });
});

test('work that is not finished stays, however much comes after it', () => {
  const work = runs.begin('rpower', 'anna', 'per-node');
  for (let i = 0; i < 50; i++) finished('change');
  expect(runs.show(work.id, 'anna', false)).toMatchObject({ state: 'running' });
});

/** A run with so many results of about 1,100 bytes each, of every form that results have. */
function withResults(count: number): { id: string; end(): void } {
  const run = runs.begin('rvitals', 'anna', 'per-node');
  for (let i = 0; i < count; i++) runs.add(run, { node: `n${i}`, ...big[i % big.length]! });
  return { id: run.id, end: () => runs.finish(run, 0) };
}

const long = 'x'.repeat(1_000);
const big = [
  { value: { Temp: long } },
  { value: [long] },
  { output: { stdout: long, stderr: '', code: 0 } },
  { error: long },
  { error: 'no', output: { stdout: '', stderr: long, code: 1 } },
];

test('results that take too much memory are dropped, those of the oldest run first, and its figures stay', () => {
  const first = withResults(40);
  first.end();
  const second = withResults(40);
  second.end();
  expect(runs.show(first.id, 'anna', false)).toHaveProperty('results');
  const third = withResults(40);
  const shown = runs.show(first.id, 'anna', false);
  expect(shown).toMatchObject({ state: 'finished', ok: 24, failed: 16, note: expect.stringMatching(/no longer kept/) });
  expect(shown).not.toHaveProperty('results');
  for (const { id } of [second, third]) {
    expect(runs.show(id, 'anna', false)).toMatchObject({ results: { length: 40 } });
    expect(runs.show(id, 'anna', false)).not.toHaveProperty('weight');
  }
});

test('results of work under way outlast those of finished work, whichever began first', () => {
  const running = withResults(40);
  const done = withResults(40);
  done.end();
  withResults(40);
  expect(runs.show(running.id, 'anna', false)).toHaveProperty('results');
  expect(runs.show(done.id, 'anna', false)).not.toHaveProperty('results');
});

test('a run whose own results take too much memory keeps none of them and counts on', () => {
  const small = withResults(10);
  small.end();
  const huge = withResults(200);
  expect(runs.show(huge.id, 'anna', false)).toMatchObject({ state: 'running', ok: 120, failed: 80 });
  expect(runs.show(huge.id, 'anna', false)).not.toHaveProperty('results');
  // Nothing of it counts any more.
  const next = withResults(80);
  expect(runs.show(next.id, 'anna', false)).toMatchObject({ results: { length: 80 } });
});
