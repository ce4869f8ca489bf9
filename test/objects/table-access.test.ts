import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import { atOnce } from '../../src/core/slices.ts';
import { Draft } from '../../src/database/draft.ts';
import { type Row, tableNamed } from '../../src/database/tables.ts';
import { effectiveReader } from '../../src/objects/effective.ts';
import { nodeAttributes } from '../../src/objects/node-attributes.ts';
import {
  hideGroupValue,
  nodeRows,
  nodeTableNamed,
  parseKeys,
  storedRows,
  writableTable,
  writeNodeRow,
  writeRows,
} from '../../src/objects/table-access.ts';
import { plainSeal } from '../harness/random-changes.ts';
import { snapshotOf } from '../harness/snapshot.ts';

const base = snapshotOf({
  nodelist: [
    { node: 'n1', groups: 'g' },
    { node: 'n2', groups: 'g' },
  ],
  nodehm: [
    { node: 'g', mgt: 'ipmi', cons: 'x' },
    { node: 'n1', cons: 'own', comments: 'c' },
  ],
  noderes: [{ node: 'n1', netboot: 'xnba', disable: '1' }],
  ipmi: [{ node: 'n1', bmc: 'b', password: 'sealed p' }],
  switch: [
    { node: 'n1', switch: 's1', port: '1' },
    { node: 'n1', switch: 's2', port: '2' },
  ],
  site: [
    { key: 'domain', value: 'a.b' },
    { key: 'empty', value: '' },
  ],
  nodegroup: [{ groupname: 'dyn', grouptype: 'dynamic', wherevals: 'mgt==ipmi' }],
});

function after(work: (draft: Draft) => void) {
  const draft = new Draft(base, plainSeal);
  work(draft);
  return draft.snapshot();
}

describe('setting columns of nodes', () => {
  const written = (table: string, columns: Row, node = 'n1') =>
    after((draft) => writeNodeRow(draft, tableNamed(table), node, columns))
      .rows(table)
      .values()
      .filter((row) => row['node'] === node);

  test.each<[string, string, Row, string, Row[]]>([
    ['changes the own row', 'nodehm', { cons: 'y' }, 'n1', [{ node: 'n1', cons: 'y', comments: 'c' }]],
    ['makes the own row', 'nodehm', { cons: 'y' }, 'n2', [{ node: 'n2', cons: 'y' }]],
    [
      'changes all own rows',
      'switch',
      { vlan: '7' },
      'n1',
      [
        { node: 'n1', switch: 's1', port: '1', vlan: '7' },
        { node: 'n1', switch: 's2', port: '2', vlan: '7' },
      ],
    ],
    ['to empty text hides what groups say', 'nodehm', { mgt: '' }, 'n2', [{ node: 'n2', mgt: hideGroupValue }]],
    [
      'of nodelist to empty text clears them, as nothing is inherited there',
      'nodelist',
      { groups: '' },
      'n1',
      [{ node: 'n1', groups: '' }],
    ],
    ['to empty text clears a secret', 'ipmi', { password: '' }, 'n1', [{ node: 'n1', bmc: 'b', password: '' }]],
    ['to NULL unsets them', 'nodehm', { cons: 'NULL' }, 'n1', [{ node: 'n1', comments: 'c' }]],
    ['to NULL makes no row', 'nodehm', { cons: 'NULL' }, 'n2', []],
    ['enables a row again by an empty disable', 'noderes', { disable: '' }, 'n1', [{ node: 'n1', netboot: 'xnba' }]],
    ['may repeat the name of the node', 'nodehm', { node: 'n2', cons: 'y' }, 'n2', [{ node: 'n2', cons: 'y' }]],
    ['seals secrets', 'ipmi', { password: 'new' }, 'n2', [{ node: 'n2', password: 'sealed new' }]],
    [
      'leaves a secret alone that is written as it is shown',
      'ipmi',
      { password: '********' },
      'n1',
      [{ node: 'n1', bmc: 'b', password: 'sealed p' }],
    ],
  ])('%s', (_title, table, columns, node, rows) => {
    expect(written(table, columns, node)).toEqual(rows);
  });

  test('hides the value of the group from the definition, and NULL shows it again', () => {
    const hidden = after((draft) => writeNodeRow(draft, tableNamed('nodehm'), 'n2', { mgt: '' }));
    expect(nodeAttributes(effectiveReader(hidden), 'n2')).toEqual({ cons: 'x', groups: 'g' });
    const shown = new Draft(hidden, plainSeal);
    writeNodeRow(shown, tableNamed('nodehm'), 'n2', { mgt: 'NULL' });
    expect(nodeAttributes(effectiveReader(shown.snapshot()), 'n2')).toEqual({ cons: 'x', groups: 'g', mgt: 'ipmi' });
  });

  test.each<[string, string, Row]>([
    ['another node in the key column', 'nodehm', { node: 'n2', cons: 'y' }],
    ['a column there is not', 'nodehm', { bogus: '1' }],
    ['an invalid value', 'hosts', { ip: 'x' }],
    ['a group that reads as a range', 'nodelist', { groups: 'g[1-3]' }],
  ])('refuses %s', (_title, table, columns) => {
    expect(() => written(table, columns)).toThrow(Fault);
  });
});

describe('setting columns of rows', () => {
  const written = (table: string, keys: string, columns: Row) =>
    after((draft) => atOnce(writeRows(draft, tableNamed(table), parseKeys(tableNamed(table), keys), columns)))
      .rows(table)
      .values();

  test.each<[string, string, string, Row, Row[]]>([
    [
      'changes the row',
      'site',
      'key=domain',
      { value: 'c.d' },
      [
        { key: 'domain', value: 'c.d' },
        { key: 'empty', value: '' },
      ],
    ],
    [
      'makes the row the keys describe',
      'nodegroup',
      'groupname=new',
      { comments: 'x' },
      [...base.rows('nodegroup').values(), { groupname: 'new', comments: 'x' }],
    ],
    [
      'changes every row that matches',
      'switch',
      'node=n1',
      { vlan: '7' },
      [
        { node: 'n1', switch: 's1', port: '1', vlan: '7' },
        { node: 'n1', switch: 's2', port: '2', vlan: '7' },
      ],
    ],
    [
      'changes only rows that match all',
      'switch',
      'node=n1,port=2',
      { vlan: '7' },
      [
        { node: 'n1', switch: 's1', port: '1' },
        { node: 'n1', switch: 's2', port: '2', vlan: '7' },
      ],
    ],
    [
      'by an empty key means a column that is unset',
      'nodehm',
      'mgt=',
      { cons: 'y' },
      [
        { node: 'g', mgt: 'ipmi', cons: 'x' },
        { node: 'n1', cons: 'y', comments: 'c' },
      ],
    ],
    [
      'to empty text clears',
      'nodehm',
      'node=n1',
      { cons: '' },
      [
        { node: 'g', mgt: 'ipmi', cons: 'x' },
        { node: 'n1', cons: '', comments: 'c' },
      ],
    ],
    [
      'to NULL unsets',
      'nodehm',
      'node=n1',
      { cons: 'NULL' },
      [
        { node: 'g', mgt: 'ipmi', cons: 'x' },
        { node: 'n1', comments: 'c' },
      ],
    ],
    ['to blanks makes no row', 'site', 'key=new', { value: '' }, base.rows('site').values()],
    [
      'renames a row',
      'site',
      'key=empty',
      { key: 'filled', value: 'x' },
      [
        { key: 'domain', value: 'a.b' },
        { key: 'filled', value: 'x' },
      ],
    ],
  ])('%s', (_title, table, keys, columns, rows) => {
    expect(written(table, keys, columns)).toEqual(rows);
  });

  test.each<[string, string, string, Row]>([
    ['a row without its key', 'networks', 'netname=a', { domain: 'x' }],
    ['a row whose key is taken away', 'site', 'key=domain', { key: 'NULL' }],
    ['a row whose key is cleared', 'nodehm', 'node=n1', { node: '' }],
    ['a node name that is none', 'nodelist', 'node=a b', { groups: 'all' }],
    ['a node renamed to what is no name', 'nodelist', 'node=n1', { node: 'a.b' }],
    ['a group name that reads as a range', 'nodegroup', 'groupname=g[1-3]', { comments: 'x' }],
    ['rows of something that has no name', 'nodehm', 'node=a b', { mgt: 'x' }],
    ['a new row in the place of another', 'nodehm', 'mgt=none', { node: 'n1' }],
    ['two rows under one key', 'switch', 'node=n1', { switch: 's', port: '1' }],
    ['a broken selection', 'nodegroup', 'groupname=dyn', { wherevals: 'what' }],
    ['a selection by a secret', 'nodegroup', 'groupname=dyn', { wherevals: 'bmcpassword==x' }],
    ['a group that reads as a range', 'nodelist', 'node=n1', { groups: 'a,b[1-2]' }],
    ['a column there is not', 'site', 'key=domain', { bogus: 'x' }],
  ])('refuses %s', (_title, table, keys, columns) => {
    expect(() => written(table, keys, columns)).toThrow(Fault);
  });
});

describe('the keys of a path', () => {
  test.each([
    ['node=n1', { node: 'n1' }],
    [' node = n1 , mgt=a=b', { node: 'n1', mgt: 'a=b' }],
    ['mgt=', { mgt: '' }],
  ])('%j', (text, keys) => {
    expect(parseKeys(tableNamed('nodehm'), text)).toEqual(keys);
  });

  test.each([
    ['nodehm', 'n1', 'column=value'],
    ['nodehm', 'bogus=1', 'no column "bogus"'],
    ['ipmi', 'password=x', 'secret'],
    ['token', 'tokenid=x', 'secret'],
    ['prodkey', 'key=x', 'secret'],
  ])('of %s refuse %j', (table, text, reason) => {
    expect(() => parseKeys(tableNamed(table), text)).toThrow(reason);
  });
});

test.each(['token', 'auditlog', 'eventlog', 'muster_journal', 'muster_meta', 'nope'])(
  'table %s cannot be written',
  (name) => {
    expect(() => writableTable(name)).toThrow(Fault);
  },
);

test('a table without rows of nodes is not read by node', () => {
  expect(() => nodeTableNamed('site')).toThrow('/tables/site/rows');
});

describe('reading', () => {
  test('shows nodes their rows in effect, secrets hidden, unset columns left out', () => {
    const rows = (table: string, columns?: string[]) => [...nodeRows(base, tableNamed(table), ['n1', 'n2'], columns)];
    expect(rows('nodehm')).toEqual([
      { name: 'n1', mgt: 'ipmi', cons: 'own', comments: 'c' },
      { name: 'n2', mgt: 'ipmi', cons: 'x' },
    ]);
    expect(rows('nodehm', ['cons', 'nodehm.mgt', 'noderes.netboot', 'bogus'])).toEqual([
      { name: 'n1', cons: 'own', mgt: 'ipmi' },
      { name: 'n2', cons: 'x', mgt: 'ipmi' },
    ]);
    expect(rows('ipmi')).toEqual([{ name: 'n1', bmc: 'b', password: '********' }, { name: 'n2' }]);
  });

  test('shows stored rows without disabled ones, empty columns and secrets', () => {
    const rows = (table: string, keys?: Row, columns?: string[]) => [
      ...storedRows(base, tableNamed(table), keys, columns),
    ];
    expect(rows('noderes')).toEqual([]);
    expect(rows('site')).toEqual([{ key: 'domain', value: 'a.b' }, { key: 'empty' }]);
    expect(rows('site', undefined, ['value'])).toEqual([{ value: 'a.b' }]);
    expect(rows('ipmi', { node: 'n1' })).toEqual([{ node: 'n1', bmc: 'b', password: '********' }]);
    expect(rows('switch', { port: '2' })).toEqual([{ node: 'n1', switch: 's2', port: '2' }]);
    expect(rows('switch', { node: 'n1', switch: 's1', port: '9' })).toEqual([]);
  });
});
