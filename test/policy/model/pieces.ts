import * as fc from 'fast-check';
import { nodeTables, tables } from '../../../src/database/tables.ts';
import { objectTypes } from '../../../src/objects/types.ts';
import { namesIn, requestRange, textOf } from './ranges.ts';
import { addressOf, bmcOf, canary, groupNames, macOf, nodeNames } from './world.ts';

/** What the account has something to do with; most requests are about that, since few others get far. */
export interface Known {
  readonly nodes: readonly string[];
  readonly groups: readonly string[];
  mayRun(command: string): boolean;
}

/** A piece of a request: text for the path, and the names that the caller writes down with it. */
export interface Piece {
  readonly text: string;
  readonly mentions: readonly string[];
}

const plain = (text: string): Piece => ({ text, mentions: [] });
const oneOf = (...texts: string[]): fc.Arbitrary<Piece> => fc.constantFrom(...texts).map(plain);
const listOf = (arbitrary: fc.Arbitrary<string>, maxLength: number): fc.Arbitrary<Piece> =>
  fc.uniqueArray(arbitrary, { minLength: 1, maxLength }).map((items) => plain(items.join(',')));
const named = (names: readonly string[]): Piece => ({ text: names.join(','), mentions: names });

/** One of the known names mostly, one of all otherwise. */
const nameOf = (known: readonly string[], all: readonly string[]): fc.Arbitrary<string> =>
  known.length === 0
    ? fc.constantFrom(...all)
    : fc.oneof({ arbitrary: fc.constantFrom(...known), weight: 2 }, { arbitrary: fc.constantFrom(...all), weight: 1 });

export const groupNameOf = ({ groups }: Known): fc.Arbitrary<string> =>
  nameOf(groups, [...groupNames, 'nosuch', 'k201']);
export const nodeNameOf = ({ nodes }: Known): fc.Arbitrary<string> => nameOf(nodes, [...nodeNames, 'n150']);

const someGroups = (known: Known): fc.Arbitrary<Piece> =>
  fc.uniqueArray(groupNameOf(known), { minLength: 1, maxLength: 2 }).map(named);

export const someNodes = (known: Known): fc.Arbitrary<Piece> => {
  const any = requestRange.map((range): Piece => ({ text: textOf(range), mentions: namesIn(range) }));
  const own = [...known.nodes, ...known.groups];
  if (own.length === 0) return any;
  const some = fc.uniqueArray(fc.constantFrom(...own), { minLength: 1, maxLength: 2 }).map(named);
  return fc.oneof({ arbitrary: some, weight: 2 }, { arbitrary: any, weight: 1 });
};

export const columnList = listOf(
  fc.constantFrom('node', 'os', 'rack', 'bmc', 'password', 'groups', 'mac', 'ip', 'comments', 'value'),
  3,
);
const nodeAttributeNames = [...objectTypes.get('node')!.attributes.keys(), 'nicips.eth1', 'nosuch'];
const tableNames = [...tables.keys()].filter((name) => name !== 'token');

/** What may stand for a segment; rows whose segments depend on each other are made apart. */
export const segmentOf = (name: string, known: Known): fc.Arbitrary<Piece> => {
  const all = oneOf('ALLRESOURCES');
  const seldomAll = (arbitrary: fc.Arbitrary<Piece>) =>
    fc.oneof({ arbitrary, weight: 12 }, { arbitrary: all, weight: 1 });
  switch (name) {
    case 'noderange':
      return seldomAll(someNodes(known));
    case 'servicenode':
      return nodeNameOf(known).map((node) => named([node]));
    case 'groupname':
      return seldomAll(someGroups(known));
    case 'names':
      return seldomAll(fc.oneof(someNodes(known), someGroups(known)));
    case 'attributes':
      return listOf(fc.constantFrom(...nodeAttributeNames), 3);
    case 'attribute':
      return oneOf(...nodeAttributeNames, 'ip', 'community', 'gateway');
    case 'tablelist':
      return listOf(fc.constantFrom(...tableNames, 'nosuch'), 2);
    case 'attrlist':
      return columnList;
    case 'columns':
      return listOf(
        fc.constantFrom('nodetype', 'nodetype.os', 'ipmi.bmc', 'ipmi.password', 'nodelist.groups', 'site'),
        2,
      );
    default:
      return oneOf(...fixed[name]!);
  }
};

const fixed: Readonly<Record<string, readonly string[]>> = {
  snapshot: ['snap1', 'nosuch'],
  budget: ['rack1', 'mine', 'nosuch'],
  bmcaccount: ['oper', 'nosuch'],
  server: ['mn1', 'nosuch'],
  file: ['/etc/motd'],
  imgname: ['img1', 'img2', 'ALLRESOURCES'],
  osdistro: ['nosuch'],
  kit: ['nosuch'],
  kitcomponents: ['nosuch'],
  log: ['eventlog', 'auditlog', 'nosuch'],
  netname: ['net1', 'net2', 'ALLRESOURCES'],
  policy_priority: ['1', '90', 'ALLRESOURCES'],
  objtype: ['node', 'node', 'group', 'site', 'tables.nodelist', 'nosuch'],
  settings: ['BootMode', 'A,B'],
  kinds: ['temp', 'model', 'all'],
  type: ['CMM', 'REDFISH'],
  id: ['RUN', 'GHOST', 'OWN', '0b1ef7f5-6a6c-4c0e-9a51-1f7d7f1c5c11'],
  change: ['CHANGE1', 'CHANGE2', 'CHANGE3', 'CHANGE4', 'CHANGE5', '999999'],
  search: [`iprange=${bmcOf('a', 'k201')}`],
  rest: ['30'],
  address: nodeNames.map((node) => bmcOf('a', node)),
  account: ['bmcuser=x,bmcpw=y'],
};

interface Keys {
  readonly table: string;
  readonly keys: string;
  readonly mentions: readonly string[];
}

const byValue: readonly (readonly [table: string, keys: string])[] = [
  ['nodepos', 'rack=r1'],
  ['nodepos', 'rack=r3'],
  ['nodepos', 'room=east'],
  ['nodelist', 'hidden=1'],
  ['nodetype', 'arch=aarch64'],
  ['nodetype', `os=${canary('a', 'k201', 'os')}`],
  ['ipmi', `bmc=${bmcOf('a', 'k201')}`],
  ['ipmi', 'password=x'],
  ['mac', `mac=${macOf('a', 'n104')}`],
  ['hosts', `ip=${addressOf('a', 'n103')}`],
  ['nodegroup', 'groupname=alpha'],
  ['site', 'key=domain'],
  ['passwd', 'key=ipmi'],
  ['policy', 'priority=1'],
  ['networks', 'netname=net1'],
  ['auditlog', 'command=chdef'],
  ['discoverydata', 'node=k201'],
  ['discoveryrange', 'noderange=alpha'],
  ['hooks', 'name=hook1'],
  ['hooks', 'name=hook2'],
  ['vmmaster', 'name=gold'],
  ['vmmaster', 'virttype=kvm'],
  ['vm', 'host=y501'],
  ['osimage', 'imagename=img1'],
  ['linuximage', 'imagename=img1'],
];

/** Rows by whose they are, or by what stands in them. */
export const keysFor = (known: Known): fc.Arbitrary<Keys> =>
  fc.oneof(
    fc
      .record({ table: fc.constantFrom(...nodeTables), name: fc.oneof(nodeNameOf(known), groupNameOf(known)) })
      .map(({ table, name }) => ({ table: table.name, keys: `${table.nodeColumn!}=${name}`, mentions: [name] })),
    fc.constantFrom(...byValue).map(([table, keys]) => ({ table, keys, mentions: [] })),
  );
