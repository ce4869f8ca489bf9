import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nodeArguments, noLine, selectNodes } from '../../src/commands/command.ts';
import { perNode } from '../../src/commands/per-node.ts';
import { Fault } from '../../src/core/errors.ts';
import type { Outcome } from '../../src/dispatch/request.ts';
import { memoryStore, nodeResultsOf, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
beforeAll(async () => {
  cluster = await memoryStore({});
  const nodes = Array.from({ length: 200 }, (_, i) => `n${i}`);
  await cluster.put(
    ...nodes.map((node): ['nodelist', Record<string, string>] => ['nodelist', { node, groups: 'all' }]),
  );
});
afterAll(() => cluster.close());

const seenSignals: AbortSignal[] = [];
const look = perNode({
  name: 'look',
  args: Type.Object(nodeArguments),
  line: noLine,
  select: selectNodes,
  prepare: () => ({ shared: undefined, target: () => undefined, width: 10 }),
  async work(_shared, _target, { node, signal }) {
    seenSignals.push(signal);
    return { node, value: [] };
  },
});

const consume = async (outcome: Outcome): Promise<number> => (await nodeResultsOf(outcome)).length;

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
    seenSignals.length = 0;
    const signal = AbortSignal.abort(new Fault('unavailable', 'The client left.'));
    await consume(await cluster.run(look, { range: 'n1' }, { signal: () => signal }));
    expect(seenSignals.map(({ aborted }) => aborted)).toEqual([true]);
  });
});
