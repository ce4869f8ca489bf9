import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Snapshot } from '../../src/database/snapshot.ts';
import { type Row, tableNamed } from '../../src/database/tables.ts';
import { effectiveReader, explainAttribute } from '../../src/objects/effective.ts';
import { nodeAttribute, nodeAttributes, selectedAttributes } from '../../src/objects/node-attributes.ts';
import { nodeType } from '../../src/objects/types.ts';
import { clusterEdits, nodeNames, withEdits } from '../harness/random-changes.ts';
import { snapshotOf } from '../harness/snapshot.ts';

type Tables = Record<string, Row[]>;

const n1 = { node: 'n1', groups: 'g1,g2' };
const attributesOf = (tables: Tables) =>
  nodeAttributes(effectiveReader(snapshotOf({ nodelist: [n1], ...tables })), 'n1');
const { groups: _groups, ...none } = { groups: '' };

test.each<[string, Tables, Row]>([
  [
    'the node itself before its groups',
    {
      nodehm: [
        { node: 'n1', cons: 'own' },
        { node: 'g1', cons: 'one' },
      ],
    },
    { cons: 'own' },
  ],
  [
    'the groups in their order',
    {
      nodehm: [
        { node: 'g1', cons: 'one' },
        { node: 'g2', cons: 'two' },
      ],
    },
    { cons: 'one' },
  ],
  [
    'the next group if one has no value',
    {
      nodehm: [
        { node: 'g1', cons: '' },
        { node: 'g2', cons: 'two' },
      ],
    },
    { cons: 'two' },
  ],
  [
    'what a group says when the own value was cleared',
    {
      nodehm: [
        { node: 'n1', cons: '' },
        { node: 'g2', cons: 'two' },
      ],
    },
    { cons: 'two' },
  ],
  [
    'columns of one table from different groups',
    {
      noderes: [
        { node: 'n1', nfsserver: 'n' },
        { node: 'g1', netboot: 'xnba' },
        { node: 'g2', netboot: 'grub2', tftpserver: 't' },
      ],
    },
    { netboot: 'xnba', nfsserver: 'n', tftpserver: 't' },
  ],
  ['nothing of a group the node is not in', { nodehm: [{ node: 'g3', cons: 'three' }] }, none],
  ['nothing of a group all unless the node names it', { nodehm: [{ node: 'all', cons: 'x' }] }, none],
  ['nothing of groups in nodelist', { nodelist: [n1, { node: 'g1', hidden: '1', status: 'booted' }] }, none],
  [
    'nothing of disabled rows',
    {
      nodehm: [
        { node: 'n1', cons: 'own', disable: 'yes' },
        { node: 'g1', cons: 'one', disable: '' },
        { node: 'g2', cons: 'two', disable: 'No' },
      ],
    },
    { cons: 'two' },
  ],
  [
    'nothing of a hidden value',
    {
      nodehm: [
        { node: 'n1', cons: '|^.*$||' },
        { node: 'g1', cons: 'one' },
      ],
    },
    none,
  ],
  [
    'a value computed from its name',
    { hosts: [{ node: 'g1', ip: '|n(\\d+)|10.0.0.($1+100)|' }] },
    { ip: '10.0.0.101' },
  ],
  [
    'chains of records',
    {
      nodehm: [
        { node: 'n1', cons: 'a,+=NEXTRECORD' },
        { node: 'g1', cons: 'b,+=NEXTRECORD' },
        { node: 'g2', cons: 'c' },
      ],
    },
    { cons: 'a,b,c' },
  ],
  [
    'a chain as far as it goes',
    {
      nodehm: [
        { node: 'n1', cons: 'a+=NEXTRECORD' },
        { node: 'g2', cons: 'c+=NEXTRECORD' },
      ],
    },
    { cons: 'ac' },
  ],
  [
    'a chain only up to the value that ends it',
    {
      nodehm: [
        { node: 'n1', cons: 'a+=NEXTRECORD' },
        { node: 'g1', cons: 'b' },
        { node: 'g2', cons: 'c' },
      ],
    },
    { cons: 'ab' },
  ],
  [
    'all values of hierarchical attributes, each once',
    {
      site: [{ key: 'hierarchicalattrs', value: 'cons' }],
      nodehm: [
        { node: 'n1', cons: 'a,b' },
        { node: 'g1', cons: 'b,c' },
        { node: 'g2', cons: 'd,a' },
      ],
    },
    { cons: 'a,b,c,d' },
  ],
  [
    'hierarchical attributes with a delimiter of their own',
    {
      site: [{ key: 'hierarchicalattrs', value: 'mgt, cons:;' }],
      nodehm: [
        { node: 'n1', cons: 'a,b' },
        { node: 'g1', cons: 'c;a,b' },
      ],
    },
    { cons: 'a,b;c' },
  ],
  [
    'hierarchical attributes without the mark of a chain',
    {
      site: [{ key: 'hierarchicalattrs', value: 'cons' }],
      nodehm: [
        { node: 'n1', cons: 'a' },
        { node: 'g1', cons: 'b+=NEXTRECORD' },
      ],
    },
    { cons: 'a,b' },
  ],
  [
    'no hierarchy from a disabled row of the site',
    {
      site: [{ key: 'hierarchicalattrs', value: 'cons', disable: '1' }],
      nodehm: [
        { node: 'n1', cons: 'a' },
        { node: 'g1', cons: 'b' },
      ],
    },
    { cons: 'a' },
  ],
  [
    'the scripts of every node before its own',
    {
      postscripts: [
        { node: 'xcatdefaults', postscripts: 'all', postbootscripts: 'boot' },
        { node: 'g1', postscripts: 'mine' },
      ],
    },
    { postbootscripts: 'boot', postscripts: 'all,mine' },
  ],
  [
    'its own scripts alone if those of every node are disabled',
    {
      postscripts: [
        { node: 'xcatdefaults', postscripts: 'all', disable: '1' },
        { node: 'n1', postscripts: 'mine' },
      ],
    },
    { postscripts: 'mine' },
  ],
  [
    'attributes whose condition a group fulfils',
    { nodehm: [{ node: 'g2', mgt: 'ipmi' }], ipmi: [{ node: 'n1', bmc: 'b' }] },
    { bmc: 'b', mgt: 'ipmi' },
  ],
  [
    'no attributes whose condition does not hold',
    { nodehm: [{ node: 'n1', mgt: 'kvm' }], ipmi: [{ node: 'n1', bmc: 'b' }] },
    { mgt: 'kvm' },
  ],
  [
    'the mapping the condition chooses',
    { nodehm: [{ node: 'n1', mgt: 'openbmc' }], ipmi: [{ node: 'n1', bmc: 'i' }], openbmc: [{ node: 'g1', bmc: 'o' }] },
    { bmc: 'o', mgt: 'openbmc' },
  ],
  [
    'secrets as stars',
    { nodehm: [{ node: 'n1', mgt: 'ipmi' }], ipmi: [{ node: 'g1', password: '{m1}sealed' }] },
    { bmcpassword: '********', mgt: 'ipmi' },
  ],
  [
    'the nics one by one',
    { nics: [{ node: 'g1', nicips: 'eth1!|n(\\d+)|10.1.0.($1)|,eth0!10.0.0.9' }] },
    { 'nicips.eth0': '10.0.0.9', 'nicips.eth1': '10.1.0.1' },
  ],
  [
    'the type that a pdu has',
    { pdu: [{ node: 'n1', nodetype: 'pdu', outlet: '8' }] },
    { nodetype: 'pdu', outlet: '8' },
  ],
  [
    'one row where several fit',
    {
      switch: [
        { node: 'n1', switch: 's1', port: '1' },
        { node: 'n1', switch: 's2', vlan: '7' },
      ],
    },
    { switch: 's1', switchport: '1', switchvlan: '7' },
  ],
])('a node has %s', (_title, tables, expected) => {
  expect(attributesOf(tables)).toEqual({ groups: 'g1,g2', ...expected });
});

test('a node that is not there has no attributes of its own or of groups', () => {
  const reader = effectiveReader(snapshotOf({ nodehm: [{ node: 'g1', mgt: 'x' }] }));
  expect(nodeAttributes(reader, 'n9')).toEqual({});
});

test('every attribute asked for by itself is the one shown among all', () => {
  const names = [...nodeType.attributes.keys()].filter((name) => name !== 'node');
  fc.assert(
    fc.property(clusterEdits, (edits) => {
      const reader = effectiveReader(withEdits(Snapshot.empty, edits));
      for (const node of nodeNames) {
        const set = Object.entries(selectedAttributes(reader, node, names)).filter(([, value]) => value !== '');
        expect(Object.fromEntries(set)).toEqual(nodeAttributes(reader, node));
      }
    }),
    { numRuns: 40 },
  );
});

describe('a nic attribute asked for by name', () => {
  const reader = effectiveReader(snapshotOf({ nodelist: [n1], nics: [{ node: 'n1', nicips: 'eth0!a|b,eth1!c' }] }));
  test.each([
    ['nicips', { 'nicips.eth0': 'a|b', 'nicips.eth1': 'c' }],
    ['nicips.eth1', { 'nicips.eth1': 'c' }],
    ['nicips.eth9', {}],
    ['nictypes', {}],
  ])('%s', (name, expected) => {
    expect(selectedAttributes(reader, 'n1', [name])).toEqual(expected);
  });
});

describe('where a value comes from', () => {
  const reader = effectiveReader(
    snapshotOf({
      nodelist: [n1],
      nodehm: [
        { node: 'n1', cons: 'own' },
        { node: 'g2', mgt: 'ipmi' },
      ],
      hosts: [{ node: 'g1', ip: '|n(\\d+)|10.0.0.($1)|' }],
      ipmi: [{ node: 'n1', bmc: 'b', password: '{m1}sealed' }],
      postscripts: [{ node: 'xcatdefaults', postscripts: 'all' }],
    }),
  );
  test.each<[string, Row]>([
    ['cons', { value: 'own', source: 'node', row: 'n1', table: 'nodehm', column: 'cons', stored: 'own' }],
    ['mgt', { value: 'ipmi', source: 'group', row: 'g2', table: 'nodehm', column: 'mgt', stored: 'ipmi' }],
    [
      'ip',
      {
        value: '10.0.0.1',
        source: 'group',
        row: 'g1',
        table: 'hosts',
        column: 'ip',
        stored: '|n(\\d+)|10.0.0.($1)|',
        pattern: '|n(\\d+)|10.0.0.($1)|',
      },
    ],
    [
      'bmc',
      { value: 'b', source: 'node', row: 'n1', table: 'ipmi', column: 'bmc', stored: 'b', because: 'mgt is ipmi' },
    ],
    [
      'bmcpassword',
      {
        value: '********',
        source: 'node',
        row: 'n1',
        table: 'ipmi',
        column: 'password',
        stored: '********',
        because: 'mgt is ipmi',
      },
    ],
    [
      'postscripts',
      {
        value: 'all',
        source: 'default',
        row: 'xcatdefaults',
        table: 'postscripts',
        column: 'postscripts',
        stored: 'all',
      },
    ],
    ['netboot', { value: '', source: 'unset' }],
    ['nodetype', { value: '', source: 'unset' }],
  ])('%s', (attribute, expected) => {
    expect(explainAttribute(reader, 'n1', attribute)).toEqual(expected);
  });
});

test('a row as it is in effect holds neither its key nor its disabling', () => {
  const reader = effectiveReader(snapshotOf({ nodelist: [n1], nodehm: [{ node: 'g1', mgt: 'x', disable: '0' }] }));
  expect(reader.row(tableNamed('nodehm'), 'n1')).toEqual({ mgt: 'x' });
  expect(nodeAttribute(reader, 'n1', 'mgt')).toBe('x');
});
