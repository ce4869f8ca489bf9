import { afterAll, beforeAll, expect, test } from 'vitest';
import { effectiveReader } from '../../src/objects/effective.ts';
import { nodeAttribute } from '../../src/objects/node-attributes.ts';
import { followMove } from '../../src/nodes/effects.ts';
import { memoryStore, testOrigin, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
beforeAll(async () => {
  cluster = await memoryStore();
  const node = (name: string, groups: string, mgt = 'ipmi') =>
    [
      ['nodelist', { node: name, groups }],
      ['nodehm', { node: name, mgt }],
    ] as const;
  await cluster.put(
    ...node('own', 'all'),
    ...node('openbmc', 'all', 'openbmc'),
    ...node('member', 'rack1'),
    ...node('counted', 'rack2'),
    ...node('pattern', 'all'),
    ...node('name', 'all'),
    ...node('behind', 'all'),
    ...node('there', 'all'),
    ['ipmi', { node: 'own', bmc: '10.0.0.1', username: 'admin' }],
    ['openbmc', { node: 'openbmc', bmc: '10.0.0.1' }],
    ['ipmi', { node: 'rack1', bmc: '10.0.0.1', username: 'admin' }],
    ['ipmi', { node: 'rack2', bmc: '|.*|10.0.0.(0+1)|' }],
    ['ipmi', { node: 'pattern', bmc: '|.*|10.0.0.1|' }],
    ['ipmi', { node: 'name', bmc: 'bmc1.example' }],
    ['ipmi', { node: 'behind', bmc: '10.9.9.9' }],
    ['ipmi', { node: 'there', bmc: '10.0.0.2' }],
  );
});
afterAll(() => cluster.close());

const move = (node: string) => followMove(cluster.store, testOrigin, node, '10.0.0.1', '10.0.0.2');
const bmcOf = (node: string) => nodeAttribute(effectiveReader(cluster.current), node, 'bmc');

test.each(['own', 'openbmc'])(
  'an address that is the node’s own follows, in one journalled change: %s',
  async (node) => {
    const { revision } = cluster.current;
    expect(await move(node)).toBe('Its BMC has moved from 10.0.0.1 to 10.0.0.2; its attribute bmc is 10.0.0.2 now.');
    expect(bmcOf(node)).toBe('10.0.0.2');
    expect(cluster.current.revision).toBe(revision + 1);
  },
);

test.each([
  ['member', ' as its own value, instead of that of the group rack1'],
  ['counted', ' as its own value, instead of that of the group rack2'],
  ['pattern', ' instead of |.*|10.0.0.1|'],
])('an address that is inherited or made from a pattern becomes the node’s own: %s', async (node, instead) => {
  const { revision } = cluster.current;
  const groups = ['rack1', 'rack2'].map((group) => cluster.current.get('ipmi', group));
  expect(await move(node)).toBe(
    `Its BMC has moved from 10.0.0.1 to 10.0.0.2; its attribute bmc is 10.0.0.2 now${instead}.`,
  );
  expect([bmcOf(node), cluster.current.revision]).toEqual(['10.0.0.2', revision + 1]);
  expect(['rack1', 'rack2'].map((group) => cluster.current.get('ipmi', group))).toEqual(groups);
  // What else the group gives is still inherited.
  if (node === 'member') expect(nodeAttribute(effectiveReader(cluster.current), node, 'bmcusername')).toBe('admin');
});

test.each([
  ['name', 'bmc1.example', 'is "bmc1.example" and was not changed: make sure that it leads to 10.0.0.2.'],
  ['behind', '10.9.9.9', 'is 10.9.9.9, another address than the one that moved, and was not changed.'],
  ['there', '10.0.0.2', 'is 10.0.0.2 already.'],
])('anything else is left, and that is said: %s', async (node, bmc, because) => {
  const { revision } = cluster.current;
  expect(await move(node)).toBe(`Its BMC has moved from 10.0.0.1 to 10.0.0.2; its attribute bmc ${because}`);
  expect([bmcOf(node), cluster.current.revision]).toEqual([bmc, revision]);
});

test('a node that has been removed meanwhile stays so', async () => {
  expect(await move('nobody')).toContain('the node has been removed meanwhile');
  expect(cluster.current.get('ipmi', 'nobody')).toBeUndefined();
});
