import * as fc from 'fast-check';
import { type Columns, Draft, type Seal } from '../../src/database/draft.ts';
import type { Snapshot } from '../../src/database/snapshot.ts';
import { keyOf, type Row, tableNamed } from '../../src/database/tables.ts';

/** One write to a row: its columns, or its removal. */
export interface Edit {
  readonly table: string;
  readonly identity: Row;
  readonly columns: Columns | 'remove';
}

const word = (...words: string[]) => fc.constantFrom(...words);
const unset = fc.constant(undefined);

export const nodeNames = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6'] as const;
export const groupNames = ['g1', 'g2', 'g3'] as const;
const rowName = word(...nodeNames, ...groupNames);
const groups = fc.subarray([...groupNames, 'n1']).map((names) => names.join(','));
const disable = fc.oneof({ weight: 4, arbitrary: unset }, word('0', 'no', 'yes', '1', ''));

const columnsOf = (columns: Record<string, fc.Arbitrary<string | undefined>>): fc.Arbitrary<Columns | 'remove'> =>
  fc.oneof({ weight: 5, arbitrary: fc.record(columns, { requiredKeys: [] }) }, fc.constant('remove' as const));

const edit = (
  table: string,
  identity: fc.Arbitrary<Row>,
  columns: Record<string, fc.Arbitrary<string | undefined>>,
): fc.Arbitrary<Edit> => fc.record({ table: fc.constant(table), identity, columns: columnsOf(columns) });

const value = word('', 'a', 'b', 'a,b', 'x+=NEXTRECORD', '/n/m/', '|n(\\d+)|v($1+1)|', '|^.*$||');

/** Writes that can change what nodes and groups look like, in tables of every kind. */
export const clusterEdit: fc.Arbitrary<Edit> = fc.oneof(
  {
    weight: 4,
    arbitrary: edit('nodelist', fc.record({ node: word(...nodeNames) }), {
      groups: fc.oneof(groups, unset),
      hidden: word('', '0', '1', 'yes'),
      status: word('booted', 'alive'),
      disable,
    }),
  },
  edit('nodehm', fc.record({ node: rowName }), { mgt: word('', 'ipmi', 'openbmc', 'kvm'), cons: value, disable }),
  edit('noderes', fc.record({ node: rowName }), { netboot: value, servicenode: value, disable }),
  edit('ipmi', fc.record({ node: rowName }), {
    bmc: word('', 'h1', '/n/b/'),
    password: word('', 'secret', '********'),
  }),
  edit('postscripts', fc.record({ node: fc.oneof(rowName, word('xcatdefaults')) }), {
    postscripts: word('', 'p', 'q,r'),
    disable,
  }),
  edit('nics', fc.record({ node: rowName }), {
    nicips: word('', 'eth0!1.1.1.1,eth1!2.2.2.2', 'eth0!|n(\\d+)|1.1.1.($1)|'),
  }),
  edit('switch', fc.record({ node: rowName, switch: word('', 's1', 's2'), port: word('', '1', '2') }), {
    vlan: word('', '7'),
    disable,
  }),
  edit('site', fc.record({ key: word('hierarchicalattrs', 'domain') }), {
    value: word('', 'netboot', 'servicenode:;', 'cons,netboot:|'),
    disable,
  }),
  edit('nodegroup', fc.record({ groupname: word(...groupNames, 'dyn') }), {
    grouptype: word('static', 'dynamic'),
    wherevals: word('mgt==ipmi', 'mgt!=ipmi::netboot=~a', 'nonsense', ''),
    disable,
  }),
  edit('networks', fc.record({ net: word('10.0.0.0', '10.1.0.0'), mask: word('255.0.0.0', '255.255.0.0') }), {
    netname: word('', 'one', 'two'),
    mask: word('255.0.0.0', '255.255.0.0'),
    domain: word('', 'x.y', 'ä€😀'),
  }),
);

export const clusterEdits = fc.array(clusterEdit, { maxLength: 12 });

export const plainSeal: Seal = (_table, _column, clear) => `sealed ${clear}`;

/** A draft with the edits in it. Edits that would take another row's key are left out, as the draft refuses them. */
export function draftOf(base: Snapshot, edits: readonly Edit[]): Draft {
  const draft = new Draft(base, plainSeal);
  for (const { table, identity, columns } of edits) {
    const key = keyOf(tableNamed(table), identity);
    if (columns === 'remove') draft.remove(table, key);
    else {
      const renamed = keyOf(tableNamed(table), { ...identity, ...columns } as Row);
      if (renamed !== key && draft.get(table, renamed)) continue;
      draft.merge(table, key, { ...identity, ...columns });
    }
  }
  return draft;
}

export const withEdits = (base: Snapshot, edits: readonly Edit[]): Snapshot =>
  base.apply(draftOf(base, edits).changes(), base.revision + 1);

/** Everything in the snapshot that can be asked for, for comparing two of them. */
export const contents = (
  snapshot: Snapshot,
  tables: readonly { readonly name: string }[],
): Record<string, [string, Row][]> =>
  Object.fromEntries(
    tables.flatMap(({ name }) => {
      const entries = [...snapshot.rows(name).entries()];
      return entries.length === 0 ? [] : [[name, entries]];
    }),
  );
