import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ipText, parsePrefix } from '../../../src/core/ip.ts';
import { parseRanges } from '../../../src/names/dhcp/subnets.ts';
import { type ServedSubnet, sortedSubnets } from '../../../src/names/dhcp/document.ts';
import { planReservations } from '../../../src/names/dhcp/plan-reservations.ts';
import { isOneMachine, normalMac } from '../../../src/core/mac.ts';
import { memoryStore, type TestStore } from '../../harness/store.ts';
import { RefusedNodes } from '../../../src/objects/select.ts';
import { machineWith, node, type Rows } from './setting.ts';

const subnet = (network: string, text: string, ranges = '', gateway?: string): ServedSubnet => {
  const prefix = parsePrefix(text)!;
  const parsed = parseRanges(ranges, prefix);
  if (typeof parsed === 'string') throw new Error(parsed);
  return { id: 1, network, prefix, ranges: parsed, gateway, bootServer: undefined };
};

const subnets = sortedSubnets([
  subnet('mgmt', '10.1.0.0/16', '10.1.200.1-10.1.200.99', '10.1.0.254'),
  subnet('ib', '10.2.0.0/16'),
  subnet('six', 'fd01::/64'),
]);

let store: TestStore;
beforeAll(async () => {
  store = await memoryStore();
});
afterAll(() => store.close());

let tried = 0;
/** Every case has a node of its own; NODE stands for its name. */
async function plan(mac: string, ip: string, more: (name: string) => Rows = () => []) {
  const name = `case${tried++}`;
  await store.put(...node(name, ip, mac), ...more(name));
  const machine = machineWith('eth0', ['10.1.0.250'], { 'known-host': '10.1.7.7' });
  const refused = new RefusedNodes();
  const { byNode, messages } = await planReservations(
    store.current,
    [name],
    subnets,
    { machine, bootWorkers: undefined },
    refused,
  );
  refused.tell();
  return {
    reservations: byNode
      .get(name)!
      .map(
        ({ mac: address, ip: reserved, hostname }) =>
          `${address} ${reserved ? ipText(reserved) : '-'} ${hostname.replace(name, 'NODE')}`,
      ),
    messages: messages.map((message) => message.replaceAll(name, 'NODE')),
    name,
  };
}

describe('the reservations of a node', () => {
  it.each<[mac: string, ip: string, expected: string[]]>([
    ['52:54:00:00:00:01', '10.1.0.1', ['52:54:00:00:00:01 10.1.0.1 NODE']],
    ['52:54:00:AA:BB:CC', '10.1.0.1', ['52:54:00:aa:bb:cc 10.1.0.1 NODE']],
    ['525400AABBCC', '10.1.0.1', ['52:54:00:aa:bb:cc 10.1.0.1 NODE']],
    ['52:54:00:00:00:01', 'fd01::99', ['52:54:00:00:00:01 fd01::99 NODE']],
    ['52:54:00:00:00:01!*NOIP*', '10.1.0.1', ['52:54:00:00:00:01 - NODE']],
    [
      '52:54:00:00:00:01|52:54:00:00:00:02!*NOIP*',
      '10.1.0.1',
      ['52:54:00:00:00:01 10.1.0.1 NODE', '52:54:00:00:00:02 - NODE'],
    ],
    [
      '52:54:00:00:00:01|52:54:00:00:00:02!known-host',
      '10.1.0.1',
      ['52:54:00:00:00:01 10.1.0.1 NODE', '52:54:00:00:00:02 10.1.7.7 known-host'],
    ],
    ['02:00:00:00:00:00:00:01', '10.2.0.1', ['02:00:00:00:00:00:00:01 10.2.0.1 NODE']],
  ])('with mac %s and ip %s', async (mac, ip, expected) => {
    expect(await plan(mac, ip)).toMatchObject({ reservations: expected, messages: [] });
  });

  it('go to the interface whose name the MAC address names', async () => {
    const nics = (name: string): Rows => [
      ['nics', { node: name, nicips: 'ib0!10.2.0.7', nichostnamesuffixes: 'ib0!-ib0' }],
    ];
    const name = `case${tried}`;
    const { reservations } = await plan(`52:54:00:00:00:01|52:54:00:00:00:02!${name}-ib0`, '10.1.0.1', nics);
    expect(reservations).toEqual(['52:54:00:00:00:01 10.1.0.1 NODE', '52:54:00:00:00:02 10.2.0.7 NODE-ib0']);
  });

  it.each([
    [
      '52:54:00:00:00:01',
      '10.9.0.1',
      'Ignoring NODE of node NODE: no network that DHCP serves has its address 10.9.0.1.',
    ],
    ['52:54:00:00:00:01!stranger', '10.1.0.1', 'Ignoring stranger of node NODE, it can not be resolved.'],
    ['', '10.1.0.1', 'Unable to find mac address for NODE'],
  ])('are left out with a message: mac %j, ip %s', async (mac, ip, message) => {
    expect(await plan(mac, ip)).toMatchObject({ reservations: [], messages: [message] });
  });

  it('name the boot server of the node, where it has one of its own', async () => {
    const { name } = await plan('52:54:00:00:00:01', '10.1.0.1', (n) => [
      ['noderes', { node: n, tftpserver: '10.1.0.250' }],
    ]);
    const { byNode } = await planReservations(
      store.current,
      [name],
      subnets,
      { machine: machineWith('eth0', []), bootWorkers: () => [{ name: 'sn1', address: '10.1.0.11' }] },
      new RefusedNodes(),
    );
    expect(byNode.get(name)![0]!.nextServer).toBe('10.1.0.250');
  });

  it('name the first worker that the node can boot from, where it has no boot server of its own', async () => {
    const { name } = await plan('52:54:00:00:00:01', '10.1.0.1', (n) => [
      ['noderes', { node: n, servicenode: 'sn1,sn2' }],
    ]);
    const bootWorkers = () => [
      { name: 'sn1', address: '10.1.0.11' },
      { name: 'sn2', address: '10.1.0.12' },
    ];
    const surroundings = { machine: machineWith('eth0', []), bootWorkers };
    const { byNode } = await planReservations(store.current, [name], subnets, surroundings, new RefusedNodes());
    expect(byNode.get(name)![0]!.nextServer).toBe('10.1.0.11');
  });
});

describe('a value that is wrong is refused and named', () => {
  it.each<[mac: string, ip: string, message: RegExp]>([
    // Stored values are checked; these come out of patterns.
    ['|.*|nothing|', '10.1.0.1', /^Node case\d+, mac\.mac: "nothing" is not a MAC address\.$/],
    ['|.*|52:54:00:00:00:zz|', '10.1.0.1', /mac\.mac: "52:54:00:00:00:zz" is not a MAC address/],
    [
      'ff:ff:ff:ff:ff:ff',
      '10.1.0.1',
      /^Node case\d+, mac\.mac: ff:ff:ff:ff:ff:ff is the address of no machine or of many;/,
    ],
    ['00:00:00:00:00:00', '10.1.0.1', /mac\.mac: 00:00:00:00:00:00 is the address of no machine or of many/],
    ['52:54:00:00:00:01|01005E0000FB!*NOIP*', '10.1.0.1', /mac\.mac: 01:00:5e:00:00:fb is the address of no machine/],
    ['52:54:00:00:00:01!a"b', '10.1.0.1', /mac\.mac: "a\\"b" is not a host name/],
    [`52:54:00:00:00:01!${'x'.repeat(300)}`, '10.1.0.1', /mac\.mac: "x+\.\.\." is longer than 253 characters/],
    ['52:54:00:00:00:01', '|.*|10.1.0.999|', /hosts\.ip: "10\.1\.0\.999" is not an IP address/],
    [
      '52:54:00:00:00:01',
      '10.1.200.5',
      /hosts\.ip: the address 10\.1\.200\.5 lies in the dynamic range 10\.1\.200\.1-10\.1\.200\.99 of network mgmt/,
    ],
    ['52:54:00:00:00:01', '10.1.0.0', /hosts\.ip: 10\.1\.0\.0 is the first or last address of network mgmt/],
    [
      '52:54:00:00:00:01',
      '10.1.0.250',
      /^Node case\d+, hosts\.ip: 10\.1\.0\.250 is an address of this management node;/,
    ],
    ['52:54:00:00:00:01', '10.1.0.254', /^Node case\d+, hosts\.ip: 10\.1\.0\.254 is the gateway of network mgmt;/],
    ['52:54:00:00:00:01', '10.1.255.255', /hosts\.ip: 10\.1\.255\.255 is the first or last address/],
    [
      '52:54:00:00:00:01|52:54:00:00:00:01!known-host',
      '10.1.0.1',
      /mac\.mac: 52:54:00:00:00:01 would have two addresses in network mgmt/,
    ],
  ])('mac %j, ip %s', async (mac, ip, message) => {
    await expect(plan(mac, ip)).rejects.toThrow(message);
  });
});

describe('a MAC address', () => {
  it.each([
    ['52:54:00:AA:bb:0c', '52:54:00:aa:bb:0c'],
    ['52-54-00-aa-bb-0c', '52:54:00:aa:bb:0c'],
    ['525400aabb0c', '52:54:00:aa:bb:0c'],
    ['52:54:00:aa:bb', undefined],
    ['52:54:00:aa:bb:0', undefined],
    ['525400aabb0', undefined],
    ['52:54:00:aa:bb:0c\n', undefined],
    ['', undefined],
  ])('%j', (text, expected) => expect(normalMac(text)).toBe(expected));
});

describe('one machine', () => {
  const gid = (start: string): string => `${start}:80:00:00:00:00:00:00:00:02:c9:03:00:0a:0b:0c`;
  it.each([
    ['52:54:00:aa:bb:0c', true],
    ['02:00:00:00:00:00', true],
    ['ff:ff:ff:ff:ff:ff', false],
    ['00:00:00:00:00:00', false],
    ['01:00:5e:00:00:01', false],
    ['33:33:00:00:00:01', false],
    ['ab:00:00:00:00:01', false],
    // The number of an InfiniBand adapter, which has no bit for groups.
    ['01:02:c9:03:00:0a:0b:0c', true],
    ['00:00:00:00:00:00:00:00', false],
    // Flags and queue pair, then the IPv6 address.
    [gid('81:00:02:08:fe'), true],
    [gid('00:ff:ff:ff:ff'), false],
    [`ff${':ff'.repeat(19)}`, false],
  ])('%s: %s', (mac, expected) => expect(isOneMachine(mac)).toBe(expected));
});

it('a node with a value that is wrong is refused alone', async () => {
  await store.put(
    ...node('good1', '10.1.0.31', '52:54:00:00:00:31'),
    ...node('group', '10.1.0.32', '11:22:33:44:55:66'),
    ...node('gateway', '10.1.0.250', '52:54:00:00:00:33'),
    ...node('good2', '10.1.0.34', '52:54:00:00:00:34'),
  );
  const machine = machineWith('eth0', ['10.1.0.250']);
  const refused = new RefusedNodes();
  const names = ['good1', 'group', 'gateway', 'good2'];
  const { byNode } = await planReservations(
    store.current,
    names,
    subnets,
    { machine, bootWorkers: undefined },
    refused,
  );
  expect([...byNode.keys()]).toEqual(['good1', 'good2']);
  expect(refused.sentencesOf('group')).toEqual([
    expect.stringContaining('11:22:33:44:55:66 is the address of no machine'),
  ]);
  expect(refused.sentencesOf('gateway')).toEqual([expect.stringContaining('an address of this management node')]);
});
