import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Row } from '../../../src/database/tables.ts';
import { ipText, parsePrefix, prefixText } from '../../../src/core/ip.ts';
import { planSubnets, rangeText, subnetIds } from '../../../src/names/dhcp/subnets.ts';
import { Draft } from '../../../src/database/draft.ts';
import { memoryStore, testOrigin, type TestStore } from '../../harness/store.ts';
import { machineWith, type Rows } from './setting.ts';

let store: TestStore;
beforeAll(async () => {
  store = await memoryStore();
});
afterAll(() => store.close());
beforeEach(async () => {
  await store.store.change(testOrigin, (head) => {
    const draft = new Draft(head);
    for (const table of ['networks', 'site']) for (const key of head.rows(table).keys()) draft.remove(table, key);
    return draft.changes();
  });
});

const machine = machineWith('eth0', ['10.1.0.1', 'fd01::1'], { clock: '10.1.0.9' });
const network = (more: Row = {}): Rows[number] => [
  'networks',
  { netname: 'mgmt', net: '10.1.0.0', mask: '255.255.0.0', ...more },
];
const site = (key: string, value: string): Rows[number] => ['site', { key, value }];
const plan = async (rows: Rows, on = machine) => {
  await store.put(...rows);
  const { subnets, reachable, messages } = await planSubnets(store.current, on);
  return { subnets, reachable, messages, first: subnets[0]! };
};

describe('the subnet of a network', () => {
  it('has the options of the network, and those of the site where it has none', async () => {
    const { first } = await plan([
      network({
        gateway: '10.1.255.254',
        nameservers: '10.1.0.2,<xcatmaster>',
        mtu: '9000',
        dynamicrange: '10.1.9.1-10.1.9.9',
      }),
      site('nameservers', '10.9.9.9'),
      site('ntpservers', 'clock'),
      site('logservers', '<xcatmaster>'),
      site('domain', 'cluster.example'),
    ]);
    expect(first).toMatchObject({
      nic: 'eth0',
      gateway: '10.1.255.254',
      nameServers: ['10.1.0.2', '10.1.0.1'],
      timeServers: ['10.1.0.9'],
      logServers: ['10.1.0.1'],
      domain: 'cluster.example',
      mtu: 9000,
      bootServer: '10.1.0.1',
    });
    expect(first.ranges.map(rangeText)).toEqual(['10.1.9.1-10.1.9.9']);
  });

  it('is IPv6 for an IPv6 network, whose own address is the one facing it', async () => {
    const { first } = await plan([
      ['networks', { netname: 'six', net: 'fd01::', mask: '/64', nameservers: '<xcatmaster>' }],
    ]);
    expect(prefixText(first.prefix)).toBe('fd01::/64');
    expect(first).toMatchObject({ nic: 'eth0', nameServers: ['fd01::1'], bootServer: 'fd01::1' });
  });

  it('is reached through relays where no interface is in it; the own address is then the master of the site', async () => {
    const { first } = await plan([
      ['networks', { netname: 'far', net: '10.7.0.0', mask: '255.255.0.0' }],
      site('master', '10.1.0.1'),
    ]);
    expect(first).toMatchObject({ nic: undefined, bootServer: '10.1.0.1' });
  });

  it.each([
    ['', ['eth0 10.1.0.1', 'eth0 fd01::1', 'eth1 10.2.0.1']],
    ['eth1', ['eth1 10.2.0.1']],
    ['service|eth1', []],
  ])('may be reached at all own addresses on interfaces that dhcpinterfaces "%s" names', async (nics, expected) => {
    const second = machineWith('eth1', ['10.2.0.1', 'fe80::2', '169.254.0.2']);
    const on = { ...machine, addresses: () => [...machine.addresses(), ...second.addresses()] };
    const { reachable } = await plan([network(), site('dhcpinterfaces', nics)], on);
    expect(reachable.map(({ nic, ip }) => `${nic} ${ipText(ip)}`)).toEqual(expected);
  });

  it.each([
    [true, '10.1.0.1', []],
    [false, undefined, ['Network mgmt gets no gateway: this server does not forward packets for it.']],
  ])('has this server as gateway <xcatmaster> if it forwards packets (%s)', async (forwards, gateway, said) => {
    const { first, messages } = await plan(
      [network({ gateway: '<xcatmaster>', dynamicrange: '10.1.9.1-10.1.9.9' })],
      machineWith('eth0', ['10.1.0.1'], {}, forwards),
    );
    expect(first.gateway).toBe(gateway);
    expect(messages).toEqual(said);
  });

  it('leaves its dynamic range to another DHCP server', async () => {
    const { first, messages } = await plan([network({ dynamicrange: '10.1.9.1-10.1.9.9', dhcpserver: '10.1.0.77' })]);
    expect(first.ranges).toEqual([]);
    expect(messages).toEqual(['The dynamic range of network mgmt is left to its dhcpserver 10.1.0.77.']);
  });

  it('tells machines nothing about booting on an interface marked noboot', async () => {
    const { first } = await plan([network(), site('dhcpinterfaces', 'xcatmn|eth0:noboot;service|eth5')]);
    expect(first.bootServer).toBeUndefined();
  });

  it('is left out if site.dhcpinterfaces does not name its interface', async () => {
    const on = {
      ...machine,
      addresses: () => [...machine.addresses(), ...machineWith('eth1', ['10.2.0.1']).addresses()],
    };
    const { subnets, messages } = await plan([network(), site('dhcpinterfaces', 'eth1')], on);
    expect(subnets).toEqual([]);
    expect(messages).toEqual(['Network mgmt is left out: site.dhcpinterfaces does not name eth0.']);
  });

  it('is not made for loopback, link-local and multicast networks', async () => {
    const { subnets } = await plan(
      [
        ['127.0.0.0', '255.0.0.0'],
        ['169.254.0.0', '255.255.0.0'],
        ['224.0.0.0', '240.0.0.0'],
      ].map(([net = '', mask = '']) => ['networks', { netname: net, net, mask }] as const),
    );
    expect(subnets).toEqual([]);
  });
});

describe('what cannot be served is refused, with the place that is wrong', () => {
  it.each<[Rows, string]>([
    [[network({ gateway: '10.2.0.1' })], 'Network mgmt, gateway: 10.2.0.1 is not inside 10.1.0.0/16;'],
    [
      [network({ dynamicrange: '10.1.0.9-10.1.0.1' })],
      'Network mgmt, dynamicrange: 10.1.0.9-10.1.0.1 counts backwards.',
    ],
    [
      [network({ dynamicrange: '10.1.0.0-10.1.0.9' })],
      "Network mgmt, dynamicrange: it holds the network's first or last address.",
    ],
    [
      [network({ dynamicrange: '10.1.3.0/24;10.1.0.1-10.1.0.9' })],
      'Network mgmt, dynamicrange: 10.1.0.1-10.1.0.9 holds 10.1.0.1, the address of this management node on eth0.',
    ],
    [
      [network({ dynamicrange: '10.1.9.0/24', gateway: '10.1.9.254' })],
      "Network mgmt, dynamicrange: 10.1.9.0-10.1.9.255 holds 10.1.9.254, the network's gateway.",
    ],
    [
      [network({ mtu: '1500; reboot' })],
      'networks.mtu of 10.1.0.0,255.255.0.0: "1500; reboot" is not a number of bytes from 68 to 65535.',
    ],
    [[network({ domain: 'a"b' })], 'Network mgmt, domain: "a\\"b" is not a host name'],
    [[network({ nameservers: 'nobody' })], 'Network mgmt, nameservers: the name nobody leads to no address.'],
    [[network({ nameservers: "x'y" })], 'Network mgmt, nameservers: "x\'y" is not a host name'],
    [[network(), site('ntpservers', 'no{}body')], 'Site attribute ntpservers: "no{}body" is not a host name'],
    [
      [network(), site('dhcpinterfaces', 'eth9')],
      'Site attribute dhcpinterfaces: no interface "eth9" with an address is here.',
    ],
    [
      [network(), site('dhcpinterfaces', 'a b/c')],
      'Site attribute dhcpinterfaces: "b/c" is not the name of a network interface.',
    ],
    [
      [['networks', { netname: 'odd', net: '10.1.0.5', mask: '255.255.0.0' }]],
      'Network odd: its net 10.1.0.5 is not the first address',
    ],
    [
      [network(), ['networks', { netname: 'part', net: '10.1.4.0', mask: '255.255.255.0' }]],
      'Network part (10.1.4.0/24) lies in network mgmt (10.1.0.0/16)',
    ],
    [
      [
        ['networks', { netname: 'a', net: 'fd01::', mask: '/48' }],
        ['networks', { netname: 'b', net: 'fd01:0:0:8::', mask: '/64' }],
      ],
      'Network b (fd01:0:0:8::/64) lies in network a (fd01::/48)',
    ],
  ])('%j', async (rows, message) => {
    await expect(plan(rows)).rejects.toThrow(message);
  });
});

describe('the number of a subnet', () => {
  it('depends on nothing but its prefix and is never one that Kea uses itself', () => {
    const prefixes = ['10.1.0.0/16', '10.2.0.0/16', 'fd01::/64', 'fd02::/64'].map((text) => parsePrefix(text)!);
    const ids = subnetIds(prefixes);
    expect(ids.slice(0, 2)).toEqual([0x0a010000, 0x0a020000]);
    expect(new Set(ids).size).toBe(4);
    for (const [i, prefix] of prefixes.entries()) expect(subnetIds([prefix])).toEqual([ids[i]]);
    expect(ids.every((id) => id > 0 && id < 0xffffffff)).toBe(true);
  });
});
