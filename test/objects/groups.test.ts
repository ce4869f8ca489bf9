import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import { Snapshot } from '../../src/database/snapshot.ts';
import { isEnabled, type Row } from '../../src/database/tables.ts';
import { expandRange } from '../../src/objects/cluster.ts';
import {
  groupExists,
  groupMembers,
  groupNames,
  parseSelections,
  staticMembers,
  visibleNodes,
} from '../../src/objects/groups.ts';
import { clusterEdits, groupNames as randomGroups, withEdits } from '../harness/random-changes.ts';
import { snapshotOf } from '../harness/snapshot.ts';

const cluster = snapshotOf({
  nodelist: [
    { node: 'n1', groups: 'all,a' },
    { node: 'n2', groups: 'a, b ,all' },
    { node: 'n3', groups: '' },
    { node: 'h1', groups: 'a,ghosts', hidden: '1' },
    { node: 'off', groups: 'a,gone', disable: '1' },
  ],
  nodehm: [
    { node: 'n1', mgt: 'ipmi' },
    { node: 'a', mgt: 'kvm' },
    { node: 'n3', mgt: 'ipmi', power: 'x' },
    { node: 'h1', mgt: 'ipmi' },
  ],
  nodegroup: [
    { groupname: 'empty', grouptype: 'static', members: 'static' },
    { groupname: 'hidden-row', grouptype: 'static', disable: '1' },
    { groupname: 'ipmi', grouptype: 'dynamic', members: 'dynamic', wherevals: 'mgt==ipmi' },
    { groupname: 'other', grouptype: 'dynamic', members: 'dynamic', wherevals: 'mgt!=ipmi' },
    { groupname: 'both', grouptype: 'dynamic', members: 'dynamic', wherevals: 'mgt=~^ip::node=~3$' },
    { groupname: 'lacking', grouptype: 'dynamic', members: 'dynamic', wherevals: 'power!=y' },
    { groupname: 'one', grouptype: 'dynamic', members: 'dynamic', wherevals: 'node=n2' },
    { groupname: 'not', grouptype: 'dynamic', members: 'dynamic', wherevals: 'node!~/^n[12]/' },
    { groupname: 'broken', grouptype: 'dynamic', members: 'dynamic', wherevals: 'what is this' },
    { groupname: 'unknown', grouptype: 'dynamic', members: 'dynamic', wherevals: 'bogus==1' },
    { groupname: 'nothing', grouptype: 'dynamic', members: 'dynamic' },
  ],
});

describe('members', () => {
  test.each<[string, string[] | undefined]>([
    ['a', ['n1', 'n2']],
    ['b', ['n2']],
    ['ghosts', []],
    ['gone', undefined],
    ['empty', []],
    ['hidden-row', undefined],
    ['nope', undefined],
    ['ipmi', ['n1', 'n3']],
    ['other', ['n2']],
    ['both', ['n3']],
    ['lacking', ['n3']],
    ['one', ['n2']],
    ['not', ['n3']],
    ['broken', []],
    ['unknown', []],
    ['nothing', []],
  ])('of %s', (group, members) => {
    expect(groupMembers(cluster, group)).toEqual(members);
    expect(groupExists(cluster, group)).toBe(members !== undefined);
  });

  test('whom a change of a group concerns includes the hidden', () => {
    expect(staticMembers(cluster, 'a')).toEqual(['h1', 'n1', 'n2']);
  });
});

test('groups are those that nodes name and those that have a row of their own', () => {
  expect(groupNames(cluster)).toEqual([
    'a',
    'all',
    'b',
    'both',
    'broken',
    'empty',
    'ghosts',
    'ipmi',
    'lacking',
    'not',
    'nothing',
    'one',
    'other',
    'unknown',
  ]);
});

test('hidden and disabled nodes are in no listing', () => {
  expect(visibleNodes(cluster)).toEqual(['n1', 'n2', 'n3']);
});

test.each([
  ['a', ['n1', 'n2']],
  ['h1', ['h1']],
  ['ghosts', []],
  ['ipmi,-n1', ['n3']],
  ['all@other', ['n2']],
  ['mgt==ipmi', ['n1', 'n3']],
])('as a range, %s means %j', (range, nodes) => {
  expect(expandRange(cluster, range)).toEqual({ nodes, missed: [] });
});

test('the site can exclude nodes from ranges, unless that row is disabled', () => {
  const excluding = (row: Row) =>
    snapshotOf({ nodelist: [{ node: 'n1' }, { node: 'n2' }], site: [{ key: 'excludenodes', value: 'n1', ...row }] });
  expect(expandRange(excluding({}), 'n1,n2').nodes).toEqual(['n2']);
  expect(expandRange(excluding({ disable: 'yes' }), 'n1,n2').nodes).toEqual(['n1', 'n2']);
});

describe('a selection', () => {
  test.each(['mgt', 'mgt>5', '==x', 'mgt==a::what', 'bogus==1', 'mgt=~(', 'bmcpassword==x', 'bmcpassword=~.'])(
    '%s is refused',
    (text) => {
      expect(() => parseSelections(text, 'g')).toThrow(Fault);
    },
  );

  test('may have patterns that are together no larger than one', () => {
    const pattern = 'arch=~x{900}';
    expect(parseSelections(`${pattern}::${pattern}`, 'g')).toHaveLength(2);
    expect(() => parseSelections(`${pattern}::${pattern}::${pattern}`, 'g')).toThrow(/Group "g": .* together/);
    expect(() => parseSelections('arch=~\\pL{990}', 'g')).toThrow(/Group "g": the pattern is too large/);
  });

  test('that takes too long is an error that names the group, never a group without members', () => {
    const wherevals = `node=~(?:[13579].{4}|[02468].{3}|[01234].{3}|[0156].{2}|[5-9].{2}|${'[qz]?'.repeat(150)})[yz]`;
    const names = Array.from({ length: 5_000 }, (_, i) => ({ node: `n${10_000 + 7 * i}` }));
    const hostile = snapshotOf({
      nodelist: names,
      nodegroup: [{ groupname: 'dyn', grouptype: 'dynamic', wherevals }],
    });
    expect(() => groupMembers(hostile, 'dyn')).toThrow(/Group "dyn": matching the pattern would take too long/);
  });

  test.each(['mgt==ipmi', ' mgt == x', 'groups=~(^|,)a(,|$)', 'node!~x', 'nicips.eth0==1.1.1.1', 'mgt==a::'])(
    '%s is accepted',
    (text) => {
      expect(parseSelections(text, 'g')).toHaveLength(1);
    },
  );
});

/** Membership counted from the rows alone. */
function recount(snapshot: Snapshot): Map<string, string[]> {
  const members = new Map<string, string[]>();
  for (const [node, row] of snapshot.rows('nodelist').entries()) {
    if (!isEnabled(row)) continue;
    for (const group of (row['groups'] ?? '').split(',').filter(Boolean)) {
      members.set(group, [...(members.get(group) ?? []), node]);
    }
  }
  return members;
}

test('after any sequence of changes, and asked in any order, membership equals a full recount', () => {
  fc.assert(
    fc.property(fc.array(clusterEdits, { minLength: 1, maxLength: 8 }), fc.array(fc.nat(7)), (sequence, order) => {
      const snapshots = sequence.reduce((all, edits) => [...all, withEdits(all.at(-1)!, edits)], [Snapshot.empty]);
      for (const index of [...snapshots.keys(), ...order]) {
        const snapshot = snapshots[index % snapshots.length]!;
        const counted = recount(snapshot);
        for (const group of [...randomGroups, 'n1']) {
          expect(staticMembers(snapshot, group)).toEqual(counted.get(group) ?? []);
        }
        const defined = snapshot
          .rows('nodegroup')
          .values()
          .filter(isEnabled)
          .map((row) => row['groupname']!);
        expect(groupNames(snapshot)).toEqual([...new Set([...counted.keys(), ...defined])].sort());
      }
    }),
    { numRuns: 100 },
  );
});
