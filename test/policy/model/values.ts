import * as fc from 'fast-check';
import { objectTypes } from '../../../src/objects/types.ts';
import { addressOf, bmcOf, canary, groupNames, hypervisors, macOf, nodeNames, uuidOf } from './world.ts';

export type Attributes = Readonly<Record<string, string>>;

const someNode = fc.constantFrom(...nodeNames);
const address = fc.oneof(
  someNode.map((node) => bmcOf('a', node)),
  someNode.map((node) => addressOf('a', node)),
  someNode.map((node) => `::ffff:${bmcOf('a', node)}`),
  fc.constantFrom('127.177.9.9', '10.78.9.9', '10.78.255.254'),
);
const groupList = fc
  .uniqueArray(fc.constantFrom(...groupNames, 'delta'), { minLength: 1, maxLength: 3 })
  .map((names) => names.join(','));
const memberList = fc
  .uniqueArray(fc.constantFrom(...nodeNames, ...groupNames, 'n199'), { minLength: 1, maxLength: 3 })
  .map((names) => names.join(','));
const plainText = fc.oneof(
  fc.constantFrom('', 'v1', 'r1', 'r3', '1'),
  someNode.map((node) => canary('a', node, 'os')),
);

/** Values of attributes and columns that mean more than text. */
const special: Readonly<Record<string, fc.Arbitrary<string>>> = {
  ip: address,
  bmc: fc.oneof({ arbitrary: address, weight: 4 }, { arbitrary: someNode, weight: 1 }),
  bmcport: fc.constantFrom('', '4711'),
  mac: fc.oneof(
    someNode.map((node) => macOf('a', node)),
    someNode.map((node) => macOf('a', node).replaceAll(':', '')),
    someNode.map((node) => `52:54:00:77:00:01!${node}`),
    fc.constant('52:54:00:77:00:01'),
  ),
  hostnames: fc.oneof(someNode, fc.constantFrom('login', 'www.example.org', 'alias-a-k201')),
  otherinterfaces: fc
    .tuple(fc.constantFrom('-x', 'n104', 'mail.example.org'), address)
    .map(([name, ip]) => `${name}:${ip}`),
  'nicips.eth1': address,
  'nicips.w.example.org': address,
  groups: groupList,
  members: memberList,
  grouptype: fc.constantFrom('static', 'dynamic'),
  wherevals: fc.constantFrom('room==west', 'rack==r2', 'rack==zz'),
  mgt: fc.constantFrom('ipmi', 'redfish', 'openbmc', 'kvm'),
  power: fc.constantFrom('ipmi', 'redfish'),
  hidden: fc.constantFrom('0', '1'),
  room: fc.constantFrom('east', 'west', 'north'),
  disable: fc.constantFrom('', '0', '1'),
  servicenode: someNode,
  vmhost: fc.constantFrom(...hypervisors, 'localhost', 'nosuch'),
  migrationdest: fc.constantFrom(...hypervisors, 'iron'),
  uuid: fc.oneof(
    someNode.map((node) => uuidOf('a', node)),
    someNode.map((node) => uuidOf('a', node).toUpperCase()),
  ),
  serial: someNode.map((node) => canary('a', node, 'serial')),
  node: someNode,
  url: fc.constant('https://127.0.0.1:9/x'),
  kinds: fc.constantFrom('change', 'status'),
  noderange: fc.oneof(someNode, fc.constant('alpha')),
  host: fc.constantFrom(...hypervisors, 'localhost'),
  originator: fc.constantFrom('op', 'root'),
};

/** Nobody is made more than they are, and nobody is locked out. */
const policyValues: Readonly<Record<string, fc.Arbitrary<string>>> = {
  name: fc.constant('nobody'),
  rule: fc.constantFrom('deny', 'allow'),
  usercomment: plainText,
};
const networkValues: Readonly<Record<string, fc.Arbitrary<string>>> = {
  net: fc.constant('10.99.0.0'),
  mask: fc.constant('255.255.0.0'),
  usercomment: plainText,
};
const siteValues: Readonly<Record<string, fc.Arbitrary<string>>> = { usercomment: plainText, timezone: plainText };
const rowColumns = [
  'rack',
  'room',
  'os',
  'arch',
  'bmc',
  'bmcport',
  'ip',
  'hostnames',
  'mac',
  'groups',
  'hidden',
  'mgt',
  'disable',
  'comments',
  'postscripts',
  'password',
  'username',
  'fingerprint',
  'hostkey',
  'nextserver',
  'node',
  'wherevals',
  'grouptype',
  'url',
  'kinds',
  'noderange',
  'host',
  'storage',
  'originator',
  'uuid',
  'pkglist',
  'template',
];
const scripts = [
  'postscripts',
  'servicenode',
  'xcatmaster',
  'vmhost',
  'migrationdest',
  'chain',
  'bmcpassword',
  'serial',
];
const weighty = [
  'bmc',
  'bmcport',
  'mgt',
  'ip',
  'mac',
  'hostnames',
  'otherinterfaces',
  'groups',
  'rack',
  'room',
  'os',
  'hidden',
  'nicips.eth1',
  'nicips.w.example.org',
  ...scripts,
];

function namesFor(type: string): readonly string[] {
  if (type === 'policy') return Object.keys(policyValues);
  if (type === 'network') return Object.keys(networkValues);
  if (type === 'site') return Object.keys(siteValues);
  if (type === 'row') return rowColumns;
  const all = [...objectTypes.get(type)!.attributes.keys()].filter((name) => name !== objectTypes.get(type)!.key);
  if (type === 'node') return [...all, ...weighty, ...weighty, ...weighty, ...weighty, ...weighty];
  return type === 'group'
    ? [...all, ...weighty, ...weighty, 'members', 'members', 'members', 'wherevals', 'grouptype', 'grouptype']
    : all;
}

const valueOf = (type: string, name: string): fc.Arbitrary<string> => {
  const own = { policy: policyValues, network: networkValues, site: siteValues }[type];
  return own?.[name] ?? special[name] ?? plainText;
};

/** A few attributes of a type, or columns of a row, with values that mean something. */
export const attributesOf = (type: string): fc.Arbitrary<Attributes> =>
  fc
    .uniqueArray(fc.constantFrom(...namesFor(type)), { minLength: 1, maxLength: 3 })
    .chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, valueOf(type, name)]))));

/** Names of nodes that stand in values. */
export const mentionedIn = (attributes: Attributes): string[] => {
  const text = Object.values(attributes).join(' ');
  return nodeNames.filter((node) => text.includes(node));
};

/** As argument lines have them. */
export const words = (attributes: Attributes): string[] =>
  Object.entries(attributes).map(([name, value]) => `${name}=${value}`);
export const lineOf = (type: string, names: string, attributes: Attributes, options: Attributes = {}): string =>
  ['-t', type, '-o', names, ...Object.entries(options).flat(), ...words(attributes)].join(' ');
