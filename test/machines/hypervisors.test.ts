import { expect, test } from 'vitest';
import { atOnce } from '../../src/core/slices.ts';
import { Snapshot } from '../../src/database/snapshot.ts';
import type { Row } from '../../src/database/tables.ts';
import { hypervisorsIn } from '../../src/machines/hypervisors.ts';

function snapshotOf(tables: Readonly<Record<string, readonly Row[]>>): Snapshot {
  const changes = Object.entries(tables).flatMap(([table, rows]) =>
    rows.map((after) => ({ table, key: (after['node'] ?? after['key'])!, before: undefined, after })),
  );
  return Snapshot.empty.apply(changes, 1);
}

const nodes = ['a1', 'a2', 'b1', 'esx1', 'hv5', 'hv6'].map((node) => ({
  node,
  groups: node.startsWith('a') ? 'all,as' : node.startsWith('hv') ? 'hypervisors' : 'all',
}));
const machines = ['a1', 'a2', 'b1'].map((node) => ({ node, mgt: 'kvm' }));
const nodehm = [...machines, { node: 'esx1', mgt: 'esx' }];

const found = (tables: Readonly<Record<string, readonly Row[]>>): string[] =>
  [...atOnce(hypervisorsIn(snapshotOf({ nodelist: nodes, nodehm, ...tables }), 'kvm'))].sort();

test.each([
  ['nothing', {}, []],
  ['machines', { vm: [{ node: 'a1', host: 'hv1' }] }, ['hv1']],
  ['a group', { vm: [{ node: 'as', host: 'hv1' }] }, ['hv1']],
  ['a pattern of a group', { vm: [{ node: 'as', host: '|a(\\d)|hv($1+2)|' }] }, ['hv3', 'hv4']],
  [
    'a group of which one machine has its own',
    {
      vm: [
        { node: 'a1', host: 'hv2' },
        { node: 'as', host: 'hv1' },
      ],
    },
    ['hv1', 'hv2'],
  ],
  [
    'places to migrate to',
    { vm: [{ node: 'b1', host: 'hv1', migrationdest: 'hv2,hypervisors' }] },
    ['hv1', 'hv2', 'hv5', 'hv6'],
  ],
  ['a range of places to migrate to', { vm: [{ node: 'b1', migrationdest: 'hv[5-6],hv8' }] }, ['hv5', 'hv6', 'hv8']],
  [
    'a machine whose hypervisor other ranges leave out',
    { vm: [{ node: 'b1', host: 'hv5' }], site: [{ key: 'excludenodes', value: 'hv5' }] },
    ['hv5'],
  ],
  ['an address', { vm: [{ node: 'b1', host: 'fd00::1' }] }, ['fd00::1']],
  [
    'moves under way',
    {
      vmmove: [
        { node: 'a1', target: 'hv9', begun: new Date().toISOString() },
        { node: 'a2', target: 'hv8', begun: '2026-01-01T00:00:00.000Z' },
      ],
    },
    ['hv9'],
  ],
  [
    'hypervisors themselves',
    {
      hypervisor: [
        { node: 'hv5', type: 'kvm' },
        { node: 'hv6', type: 'esx' },
      ],
    },
    ['hv5'],
  ],
  ['machines of another kind', { vm: [{ node: 'esx1', host: 'hv1' }] }, []],
  ['rows that are disabled', { vm: [{ node: 'a1', host: 'hv1', disable: 'yes' }] }, []],
])('hypervisors are found that are named by %s', (_what, tables, hosts) => {
  expect(found(tables)).toEqual(hosts);
});

test('of another driver they are found by its name', () => {
  const vm = [
    { node: 'esx1', host: 'hv1' },
    { node: 'a1', host: 'hv2' },
  ];
  const moves = ['esx1', 'a1'].map((node) => ({ node, target: `for-${node}`, begun: new Date().toISOString() }));
  const hypervisor = [{ node: 'hv6', type: 'esx' }];
  const snapshot = snapshotOf({ nodelist: nodes, nodehm, vm, vmmove: moves, hypervisor });
  expect([...atOnce(hypervisorsIn(snapshot, 'esx'))].sort()).toEqual(['for-esx1', 'hv1', 'hv6']);
});
