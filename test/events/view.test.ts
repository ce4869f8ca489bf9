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
