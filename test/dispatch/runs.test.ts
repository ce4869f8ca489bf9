import { beforeEach, describe, expect, test } from 'vitest';
import { Runs } from '../../src/dispatch/runs.ts';

let now: number;
let runs: Runs;
beforeEach(() => {
  now = 0;
  runs = new Runs({ age: 1_000, count: 10, results: 100 }, () => now);
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

test('results over the limit push out the oldest finished runs', () => {
  const first = runs.begin('rpower', 'anna', 'per-node');
  for (let i = 0; i < 60; i++) runs.add(first, { node: `n${i}`, value: ['on'] });
  runs.finish(first, 0);
  const second = runs.begin('rpower', 'anna', 'per-node');
  for (let i = 0; i < 60; i++) runs.add(second, { node: `n${i}`, value: ['on'] });
  expect(isKept(first.id)).toBe(false);
  expect(isKept(second.id)).toBe(true);
});
