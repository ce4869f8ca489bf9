import { expect, it } from 'vitest';
import { redacted } from '../../src/dispatch/redacted.ts';
import { snapshotOf } from '../harness/snapshot.ts';

it('each node is looked at once, however many messages there are', async () => {
  const nodes = Array.from({ length: 50 }, (_, i) => `n${i + 1}`);
  const snapshot = snapshotOf({ nodelist: nodes.map((node) => ({ node, groups: 'all' })) });
  const looked: string[] = [];
  const sees = (node: string): boolean => looked.push(node) > 0;
  const messages = nodes.map((node) => `${node} has no address.`);
  const answer = await redacted(snapshot, { ranges: { sees } }, async () => ({ shape: 'none', messages }));
  expect(answer).toEqual({ shape: 'none', messages });
  expect(looked.sort()).toEqual(nodes.sort());
});
