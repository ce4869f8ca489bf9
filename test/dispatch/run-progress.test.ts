import { expect, test } from 'vitest';
import { RunProgress } from '../../src/dispatch/run-progress.ts';
import { Runs } from '../../src/dispatch/runs.ts';

const never = new AbortController().signal;
const numbered = (count: number, from = 0): string[] => Array.from({ length: count }, (_, i) => `line ${from + i}`);

test('a run keeps its last thousand lines, and no more than 256 Ki characters of them', () => {
  const progress = new RunProgress();
  progress.add({ lines: numbered(1_500), done: 1, of: 2 });
  expect([progress.lines.length, progress.lines[0], progress.lines.at(-1)]).toEqual([1_000, 'line 500', 'line 1499']);
  expect(progress.now).toEqual({ done: 1, of: 2, line: 'line 1499' });
  progress.add({ lines: Array.from({ length: 100 }, () => 'x'.repeat(4_096)), done: 2, of: 2 });
  expect(progress.lines).toHaveLength(64);
  expect(progress.linesBefore).toBe(1_536);
  progress.drop();
  expect([progress.lines, progress.linesBefore]).toEqual([[], 1_600]);
});

test('progress without a line comes with the last line', async () => {
  const progress = new RunProgress();
  const watched = Array.fromAsync(progress.watch(never));
  await Promise.resolve();
  progress.add({ lines: ['begun'], done: 0, of: 9 });
  progress.add({ lines: [], done: 3, of: 9 });
  progress.end();
  expect(await watched).toEqual([
    { done: 0, of: 9, line: 'begun' },
    { done: 3, of: 9, line: 'begun' },
  ]);
  expect(progress.lines).toEqual(['begun']);
});

test('who reads slowly misses lines, is told how many, and costs a bounded amount of memory', async () => {
  const progress = new RunProgress();
  const watching = progress.watch(never)[Symbol.asyncIterator]();
  const first = watching.next();
  progress.add({ lines: ['first'], done: 0, of: 1 });
  expect((await first).value).toMatchObject({ line: 'first' });
  for (let i = 0; i < 50; i++) progress.add({ lines: numbered(100, i * 100), done: 0, of: 1 });
  progress.end();
  const rest = await Array.fromAsync({ [Symbol.asyncIterator]: () => watching });
  expect(rest[0]!.line).toBe('(4000 lines are left out: this connection is too slow for them)');
  expect(rest.slice(1).map(({ line }) => line)).toEqual(numbered(1_000, 4_000));
});

test('lines of runs count as memory: those of the oldest finished run are dropped first', () => {
  const runs = new Runs({ limits: { age: 1_000, count: 10, memory: 600_000 } });
  const [first, second, third] = ['a', 'b', 'c'].map(() => {
    const run = runs.begin('toil', 'anna', 'long');
    for (let i = 0; i < 60; i++) runs.report(run, { lines: ['x'.repeat(4_000)], done: i, of: 60 });
    runs.finish(run, 0);
    return run.id;
  });
  expect(runs.show(first!, 'anna', false)).toMatchObject({ progress: { done: 59 }, lines: [] });
  expect(runs.show(second!, 'anna', false)).toMatchObject({ lines: { length: 60 } });
  expect(runs.show(third!, 'anna', false)).toMatchObject({ lines: { length: 60 } });
});
