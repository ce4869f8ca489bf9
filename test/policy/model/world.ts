import { nodeTables } from '../../../src/database/tables.ts';

/** A stored row, and all rows by table. */
export type Row = Readonly<Record<string, string>>;
export type Rows = Readonly<Record<string, readonly Row[]>>;

/** Two clusters that look the same to whoever may not know the difference: values and addresses of one have its letter in them. */
export type Letter = 'a' | 'b';

export interface Ports {
  readonly redfish: number;
  readonly ssh: number;
}

interface Definition {
  readonly groups: string;
  readonly hidden?: '1';
  /** What rules select by; the same in both clusters. */
  readonly room: 'east' | 'west';
  /** What requests select by; in the twin, nodes that must not be known have another. */
  readonly rack: string;
  readonly mgt: 'redfish' | 'ipmi' | 'kvm';
  /** Of virtual machines: where they are, and where they may go. */
  readonly vm?: { readonly host: string; readonly migrationdest: string };
}

const definitions: Readonly<Record<string, Definition>> = {
  n101: { groups: 'all,alpha', room: 'east', rack: 'r1', mgt: 'redfish' },
  n102: { groups: 'all,alpha', room: 'west', rack: 'r1', mgt: 'redfish' },
  n103: { groups: 'all,alpha,beta', room: 'east', rack: 'r2', mgt: 'redfish' },
  n104: { groups: 'all,beta,m401', room: 'west', rack: 'r2', mgt: 'redfish' },
  k201: { groups: 'all,gamma,beta', room: 'east', rack: 'r1', mgt: 'redfish' },
  k202: { groups: 'all,gamma', room: 'west', rack: 'r2', mgt: 'ipmi' },
  k203: { groups: 'all,gamma', room: 'west', rack: 'r3', mgt: 'redfish' },
  h301: { groups: 'all,dark,alpha', hidden: '1', room: 'east', rack: 'r1', mgt: 'redfish' },
  h302: { groups: 'all,dark', hidden: '1', room: 'west', rack: 'r3', mgt: 'redfish' },
  m401: { groups: 'all', room: 'west', rack: 'r4', mgt: 'redfish' },
  y501: { groups: 'all,iron,beta', room: 'east', rack: 'r4', mgt: 'redfish' },
  y503: { groups: 'all,iron', room: 'west', rack: 'r4', mgt: 'redfish' },
  w601: {
    groups: 'all,virt,alpha',
    room: 'east',
    rack: 'r2',
    mgt: 'kvm',
    vm: { host: 'y501', migrationdest: 'y501,y503' },
  },
  w602: { groups: 'all,virt', room: 'west', rack: 'r2', mgt: 'kvm', vm: { host: 'y503', migrationdest: 'y503' } },
  w605: {
    groups: 'all,virt,beta',
    room: 'west',
    rack: 'r3',
    mgt: 'kvm',
    vm: { host: 'localhost', migrationdest: 'localhost' },
  },
};

export const nodeNames = Object.keys(definitions);
/** It asks by UDP, and nobody answers: commands on its hardware would take long. */
export const silentNode = 'k202';
/** The name of a node and of a group. */
export const ambiguousName = 'm401';
/** Those that virtual machines name. */
export const hypervisors = ['y501', 'y503'];
/** The hypervisor of these names them. */
export const machinesOf = (hypervisor: string): string[] =>
  nodeNames.filter((node) => `${Object.values(definitions[node]!.vm ?? {}).join(',')},`.includes(`${hypervisor},`));
const attributedGroups = ['alpha', 'gamma', 'dark', 'void'];
export const groupNames = [
  'all',
  'alpha',
  'beta',
  'gamma',
  'dark',
  'iron',
  'virt',
  'void',
  ambiguousName,
  'byroom',
  'bywest',
];
/** Machines on the management node that have the name of a node, and one that is no node. */
export const machinesHere = ['n101', 'n103', 'k201', 'h301'];
export const stranger = 'stranger';
/** Masters of virtual machines, by who has made them. */
export const masters: Readonly<Record<string, string>> = { gold: 'root', mine: 'op' };
/** What belongs to no node, by its name: to be read by rules for the whole cluster alone. */
export const clusterObjects = ['img1', 'gold', 'mine', 'hook1', 'net1'];

const numberOf = (node: string): number => Number(node.slice(1)) - 100;
const block = {
  a: { bmc: '127.177', own: '127.178', far: '10.78', mac: '0a' },
  b: { bmc: '127.187', own: '127.188', far: '10.88', mac: '0b' },
};
const octets = (node: string): string => `${Math.floor(numberOf(node) / 100)}.${numberOf(node) % 100}`;

/** Every value tells whose it is. */
export const canary = (letter: Letter, owner: string, column: string): string => `c${letter}-${owner}-${column}`;
export const secretCanary = (letter: Letter, owner: string, column: string): string => `s3${letter}-${owner}-${column}`;

export const bmcOf = (letter: Letter, node: string): string => `${block[letter].bmc}.${octets(node)}`;
/** Half of them are on loopback, where SSH may go; the others may be in a hosts file. */
export const addressOf = (letter: Letter, node: string): string =>
  `${numberOf(node) % 2 === 1 ? block[letter].own : block[letter].far}.${octets(node)}`;
export const macOf = (letter: Letter, node: string): string =>
  `52:54:00:${block[letter].mac}:0${Math.floor(numberOf(node) / 100)}:0${numberOf(node) % 100}`;

export const uuidOf = (letter: Letter, node: string): string =>
  `0000000${letter}-0000-4000-8000-000000000${String(numberOf(node)).padStart(3, '0')}`;

/** What tells of the node besides its name. */
export const marksOf = (letter: Letter, node: string): string[] => [
  canary(letter, node, ''),
  bmcOf(letter, node),
  addressOf(letter, node),
  macOf(letter, node),
  uuidOf(letter, node),
];

export const isWord = (text: string, word: string): boolean =>
  text.split(/[^A-Za-z0-9_]+/).includes(word) && new RegExp(`(?<![A-Za-z0-9_])${word}(?![A-Za-z0-9_])`).test(text);

const withoutCanary = new Set([
  'nodelist',
  'hosts',
  'ipmi',
  'openbmc',
  'nodehm',
  'mac',
  'nodepos',
  'dhcphost',
  'taskstate',
  'vmmove',
]);
/** What would send commands elsewhere, hide rows, or name further rows. */
const left = new Set(['disable', 'servicenode', 'comments', 'username']);

/** What groups have is no different in one table or another. */
const tablesOfGroups = new Set(['nodetype', 'noderes', 'bootparams', 'vpd', 'prodkey']);

/** A row in every table that has rows of nodes, with a canary in every column. */
function ownRows(letter: Letter, owner: string): [table: string, row: Row][] {
  return nodeTables.flatMap(({ name, columns, nodeColumn, secret }): [string, Row][] => {
    if (withoutCanary.has(name)) return [];
    const values = columns.flatMap((column): [string, string][] => {
      if (column === nodeColumn || left.has(column)) return [];
      return [[column, (secret.has(column) ? secretCanary : canary)(letter, owner, column)]];
    });
    return [[name, { [nodeColumn!]: owner, ...Object.fromEntries(values) }]];
  });
}

/** Of a virtual machine: other columns would be found wrong before its hypervisor is asked for anything. */
const harmless = ({ node, storage, guestostype, cluster, vidpassword }: Row): Row =>
  ({ node, storage, guestostype, cluster, vidpassword }) as Row;

function rowsOfNode(letter: Letter, node: string, ports: Ports): [table: string, row: Row][] {
  const { groups, hidden, room, rack, mgt, vm } = definitions[node]!;
  const arch = rack === 'r1' ? 'x86_64' : 'aarch64';
  const special: Record<string, Row> = {
    nodelist: { groups, ...(hidden && { hidden }) },
    nodepos: { room, rack, u: canary(letter, node, 'u') },
    nodehm: { mgt },
    ipmi: {
      bmc: bmcOf(letter, node),
      username: canary(letter, node, 'bmcusername'),
      password: secretCanary(letter, node, 'bmcpassword'),
      ...(mgt === 'redfish' && { bmcport: String(ports.redfish) }),
    },
    hosts: { ip: addressOf(letter, node), hostnames: `alias-${letter}-${node}` },
    mac: { mac: macOf(letter, node) },
  };
  const different: Record<string, Row> = {
    nodetype: { arch },
    noderes: { netboot: 'xnba' },
    vpd: { uuid: uuidOf(letter, node) },
    ...(vm && { vm }),
    ...(hypervisors.includes(node) && { hypervisor: { type: 'kvm' } }),
  };
  const others = ownRows(letter, node).map(([table, row]): [string, Row] => [
    table,
    { ...(table === 'vm' && vm ? harmless(row) : row), ...different[table] },
  ]);
  return [...Object.entries(special).map(([table, row]): [string, Row] => [table, { node, ...row }]), ...others];
}

/** The whole cluster of the letter, with all secrets in clear. */
export function worldOf(letter: Letter, ports: Ports): Rows {
  const rows: Record<string, Row[]> = {
    site: [
      { key: 'domain', value: 'cluster.example' },
      { key: 'excludenodes', value: ambiguousName },
    ],
    nodegroup: [
      ...attributedGroups.map((groupname) => ({ groupname, grouptype: 'static', members: 'static' })),
      { groupname: 'byroom', grouptype: 'dynamic', members: 'dynamic', wherevals: 'room==east' },
      { groupname: 'bywest', grouptype: 'dynamic', members: 'dynamic', wherevals: 'room==west' },
    ],
    networks: [
      {
        netname: 'net1',
        net: block[letter].far + '.0.0',
        mask: '255.255.0.0',
        gateway: block[letter].far + '.255.254',
        comments: canary(letter, 'net1', 'comments'),
      },
    ],
    osimage: [
      {
        imagename: 'img1',
        imagetype: 'linux',
        osvers: 'debian12',
        osarch: 'x86_64',
        profile: 'compute',
        provmethod: 'netboot',
        comments: canary(letter, 'img1', 'comments'),
      },
    ],
    linuximage: [{ imagename: 'img1', pkglist: `/nosuch/${canary(letter, 'img1', 'pkglist')}` }],
    passwd: [{ key: 'ipmi', username: 'bmc', password: secretCanary(letter, 'site', 'ipmi') }],
    hooks: [
      {
        name: 'hook1',
        url: `https://127.0.0.1:9/${canary(letter, 'hook1', 'url')}`,
        secret: secretCanary(letter, 'hook1', 'secret'),
        disable: '1',
      },
    ],
    vmmaster: Object.entries(masters).map(([name, originator]) => ({
      name,
      originator,
      virttype: 'kvm',
      storage: `/nosuch/${canary(letter, name, 'storage')}`,
    })),
  };
  const add = ([table, row]: [string, Row]): void => void (rows[table] ??= []).push(row);
  for (const node of nodeNames) for (const row of rowsOfNode(letter, node, ports)) add(row);
  for (const group of attributedGroups) {
    for (const row of ownRows(letter, group)) if (tablesOfGroups.has(row[0])) add(row);
    add(['ipmi', { node: group, password: secretCanary(letter, group, 'bmcpassword') }]);
  }
  return rows;
}
