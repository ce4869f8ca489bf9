import { expect, it } from 'vitest';
import { View } from '../../src/events/view.ts';
import { snapshotOf } from '../harness/snapshot.ts';

it('whoever asks for nodes that nobody knows hears of no others', () => {
  const filter = { user: '', addresses: [], command: 'events', line: '', ranges: {}, isOwn: true };
  const snapshot = snapshotOf({ nodelist: [{ node: 'n1', groups: 'all' }] });
  const tells = (range: string | undefined) =>
    new View({ ...filter, kinds: ['power', 'run'], range }, snapshot).render({
      what: 'power',
      time: 0,
      nodes: ['n1'],
      power: 'on',
    });
  expect(tells('nosuchgroup')).toEqual([]);
  expect(tells('all')).toHaveLength(1);
  expect(tells(undefined)).toHaveLength(1);
});

const own = { user: '', addresses: [], command: 'events', line: '', ranges: {}, isOwn: true };
const oneNode = snapshotOf({ nodelist: [{ node: 'n1', groups: 'all' }] });

it('steps of a boot are told to those who hear of the node', () => {
  const tells = (range: string | undefined) =>
    new View({ ...own, kinds: ['boot'], range }, oneNode).render({
      what: 'boot',
      time: 0,
      nodes: ['n1'],
      step: 'failed',
      text: 'no disk',
    });
  expect(tells('all').map(({ data }) => JSON.parse(data))).toEqual([
    expect.objectContaining({ kind: 'boot', step: 'failed', text: 'no disk', nodes: ['n1'] }),
  ]);
  expect(tells('nosuchgroup')).toEqual([]);
});

it('what is of no node is for those who hear of all', () => {
  const tells = (range: string | undefined) =>
    new View({ ...own, kinds: ['notice'], range }, oneNode).render({
      what: 'notice',
      time: 0,
      nodes: [],
      message: 'a machine asks',
    });
  expect(tells(undefined)).toHaveLength(1);
  expect(tells('all')).toEqual([]);
});
