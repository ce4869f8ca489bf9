import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { selectNodes } from '../../src/commands/command.ts';
import { perNode } from '../../src/commands/per-node.ts';
import { Fault } from '../../src/core/errors.ts';
import { memoryStore, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
beforeAll(async () => {
  cluster = await memoryStore({});
  const nodes = Array.from({ length: 200 }, (_, i) => `n${i}`);
  await cluster.put(
    ...nodes.map((node): ['nodelist', Record<string, string>] => ['nodelist', { node, groups: 'all' }]),
  );
});
afterAll(() => cluster.close());

const look = perNode<{ range: string; seen?: AbortSignal[] }, AbortSignal[] | undefined, undefined>({
  name: 'look',
  select: selectNodes,
  prepare: (_snapshot, { seen }) => ({ shared: seen, target: () => undefined, width: 10 }),
  async work(seen, _target, { node, signal }) {
    seen?.push(signal);
    return { node, value: [] };
  },
});

async function consume({ answer }: Awaited<ReturnType<TestStore['run']>>): Promise<number> {
  if (answer.shape !== 'stream') throw new Error(answer.shape);
  return (await Array.fromAsync(answer.results)).length;
}

describe('a command that works node by node', () => {
  test('is refused while the same user is at work on very many nodes', async () => {
    const { runs } = cluster.services;
    const other = runs.begin('look', 'root', 'per-node');
    other.nodes = 99_900;
    await expect(async () => cluster.run(look, { range: 'all' })).rejects.toThrow(
      'Commands of user "root" are at work on 99900 nodes',
    );
    expect(await consume(await cluster.run(look, { range: 'n1-n50' }))).toBe(50);
    runs.finish(other, 0);
    expect(await consume(await cluster.run(look, { range: 'all' }))).toBe(200);
    expect(runs.nodesUnderWay('root')).toBe(0);
  });

  test('is cancelled from the start if its client had left before', async () => {
    const seen: AbortSignal[] = [];
    const signal = AbortSignal.abort(new Fault('unavailable', 'The client left.'));
    await consume(await cluster.run(look, { range: 'n1', seen }, { signal: () => signal }));
    expect(seen.map(({ aborted }) => aborted)).toEqual([true]);
  });
});
