import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseIp } from '../../../src/core/ip.ts';
import {
  difference,
  type Reservation,
  ReservationSet,
  reservationsOf,
  storeNextServer,
} from '../../../src/names/dhcp/reservations.ts';
import { Draft } from '../../../src/database/draft.ts';
import { memoryStore, testOrigin, type TestStore } from '../../harness/store.ts';

const one = (node: string, mac: string, ip: string | undefined, hostname = node): Reservation => ({
  node,
  mac,
  ip: ip === undefined ? undefined : parseIp(ip),
  address: ip ?? '',
  hostname,
  nextServer: undefined,
  loader: undefined,
});

const remedy = 'Do POST /nodes/n1,n2/dhcp if both were changed, or DELETE /nodes/n1/dhcp first.';
const [a, b] = ['52:54:00:00:00:0a', '52:54:00:00:00:0b'];

it.each<[present: Reservation[], added: Reservation, expected: string | undefined]>([
  [[], one('n1', a, '10.0.0.1'), undefined],
  [[one('n1', a, '10.0.0.1')], one('n2', b, '10.0.0.2'), undefined],
  [[one('n1', a, '10.0.0.1')], one('n1', a, '10.1.0.1'), undefined],
  [
    [one('n1', a, '10.0.0.1')],
    one('n2', b, '10.0.0.1'),
    `Node n2, hosts.ip: the address 10.0.0.1 is reserved for ${a} of node n1 already. ${remedy}`,
  ],
  [
    [one('n1', a, '10.0.0.1')],
    one('n2', a, '10.0.0.2'),
    `Node n2, mac.mac: the MAC address ${a} is reserved for node n1 already. ${remedy}`,
  ],
  [
    [one('n1', a, undefined)],
    one('n2', a, undefined),
    `Node n2, mac.mac: the MAC address ${a} is reserved for node n1 already. ${remedy}`,
  ],
])('room beside others, case %#', (present, added, expected) => {
  const set = new ReservationSet();
  for (const each of present) set.add(each);
  expect(set.replace(new Map([[added.node, [added]]])).get(added.node)).toBe(expected);
});

it.each<[wanted: Reservation[], expected: string]>([
  [
    [one('n1', a, '10.0.0.1'), one('n2', b, '10.0.0.1')],
    `Node n2, hosts.ip: the address 10.0.0.1 is asked for ${a} of node n1 in the same request. Give one of the nodes another.`,
  ],
  [
    [one('n1', a, '10.0.0.1'), one('n2', b, '10.0.0.1', 'other')],
    `Node n2, mac.mac with the host other: the address 10.0.0.1 is asked for ${a} of node n1 in the same request. Give one of the nodes another.`,
  ],
  [
    [one('n1', a, '10.0.0.1'), one('n1', b, '10.0.0.1')],
    `Node n1, mac.mac: ${a} and ${b} would both get the address 10.0.0.1. Name a host of its own for one of them (MAC!host).`,
  ],
  [
    [one('n1', a, undefined), one('n1', a, '10.0.0.1')],
    `Node n1, mac.mac: the MAC address ${a} is named twice, once with *NOIP*. Name it once.`,
  ],
])('what one request asks for twice, case %#', (wanted, expected) => {
  const byNode = Map.groupBy(wanted, ({ node }) => node);
  expect([...new ReservationSet().replace(byNode).values()]).toEqual([expected]);
});

it('a replacement that is impossible changes nothing', () => {
  const set = new ReservationSet();
  for (const each of [one('n1', a, '10.0.0.1'), one('n2', b, '10.0.0.2')]) set.add(each);
  const before = [...set];
  const wanted = new Map([['n1', [one('n1', a, '10.0.0.9'), one('n1', '52:54:00:00:00:0c', '10.0.0.2')]]]);
  expect(set.replace(wanted).get('n1')).toBe(
    `Node n1, hosts.ip: the address 10.0.0.2 is reserved for ${b} of node n2 already. Do POST /nodes/n2,n1/dhcp if both were changed, or DELETE /nodes/n2/dhcp first.`,
  );
  expect(new Set(set)).toEqual(new Set(before));
  expect(set.conflict(one('n3', '52:54:00:00:00:0d', '10.0.0.9'))).toBeUndefined();
});

it('nodes may swap addresses in one change', () => {
  const set = new ReservationSet();
  for (const each of [one('n1', a, '10.0.0.1'), one('n2', b, '10.0.0.2')]) set.add(each);
  const swapped = new Map([
    ['n1', [one('n1', a, '10.0.0.2')]],
    ['n2', [one('n2', b, '10.0.0.1')]],
  ]);
  expect(set.replace(swapped).size).toBe(0);
  expect([...set].map(({ node, ip }) => [node, ip])).toEqual([
    ['n1', parseIp('10.0.0.2')],
    ['n2', parseIp('10.0.0.1')],
  ]);
});

it('who has an address or a MAC address keeps it, whoever else asks, and all others get theirs', () => {
  const set = new ReservationSet();
  set.add(one('n1', a, '10.0.0.1'));
  const asked = new Map([
    ['dup', [one('dup', a, '10.0.0.9')]],
    ['good', [one('good', b, '10.0.0.2')]],
    ['n1', [one('n1', a, '10.0.0.1')]],
  ]);
  expect([...set.replace(asked)]).toEqual([
    ['dup', expect.stringContaining(`the MAC address ${a} is reserved for node n1 already`)],
  ]);
  expect([...set].map(({ node }) => node).sort()).toEqual(['good', 'n1']);
});

it('what a refused node keeps is in the way of others too', () => {
  const set = new ReservationSet();
  for (const each of [one('n1', a, '10.0.0.1'), one('n2', b, '10.0.0.2')]) set.add(each);
  set.add(one('n3', '52:54:00:00:00:0c', '10.0.0.3'));
  const asked = new Map([
    ['n1', [one('n1', a, '10.0.0.2')]],
    ['n2', [one('n2', b, '10.0.0.3')]],
  ]);
  expect([...set.replace(asked).keys()].sort()).toEqual(['n1', 'n2']);
  expect([...set].map(({ node, address }) => `${node} ${address}`).sort()).toEqual([
    'n1 10.0.0.1',
    'n2 10.0.0.2',
    'n3 10.0.0.3',
  ]);
});

it('the difference is what has to go and to come', () => {
  const from = [one('n1', a, '10.0.0.1'), one('n2', b, '10.0.0.2')];
  const to = [one('n1', a, '10.0.0.1'), one('n2', b, '10.0.0.3')];
  expect(difference(from, to)).toEqual({ removed: [from[1]], added: [to[1]] });
  expect(difference(from, [...from])).toEqual({ removed: [], added: [] });
});

let store: TestStore;
beforeAll(async () => {
  store = await memoryStore();
});
afterAll(() => store.close());

it('rows written by hand that Kea could not take are left out', async () => {
  const rows = [
    { node: 'good', mac: a, ip: '10.0.0.1', hostname: 'good' },
    { node: 'twin', mac: a, ip: '10.0.0.2', hostname: 'twin' },
    { node: 'same', mac: b, ip: '10.0.0.1', hostname: 'same' },
    { node: 'mac', mac: 'no-mac', ip: '10.0.0.3', hostname: 'mac' },
    { node: 'all', mac: 'ff:ff:ff:ff:ff:ff', ip: '10.0.0.7', hostname: 'all' },
    { node: 'many', mac: '01:00:5e:00:00:01', ip: '10.0.0.8', hostname: 'many' },
    { node: 'ip', mac: '52:54:00:00:00:0c', ip: '10.0.0', hostname: 'ip' },
    { node: 'loop', mac: '52:54:00:00:00:0c', ip: '127.0.0.1', hostname: 'loop' },
    { node: 'name', mac: '52:54:00:00:00:0d', ip: '10.0.0.4', hostname: 'a"},{"' },
    { node: 'next', mac: '52:54:00:00:00:0e', ip: '10.0.0.5', hostname: 'next', nextserver: 'x' },
    { node: 'off', mac: '52:54:00:00:00:0f', ip: '10.0.0.6', hostname: 'off', disable: '1' },
  ];
  await store.put(...rows.map((row) => ['dhcphost', row] as const));
  expect([...reservationsOf(store.current)].map(({ node }) => node)).toEqual(['good']);
});

it('another boot server changes nothing else: rows that are disabled, of IPv6 or wrong stay as they are', async () => {
  const own = await memoryStore();
  const rows = [
    { node: 'n1', mac: a, ip: '10.0.0.1', hostname: 'n1', comments: 'keep' },
    { node: 'n1', mac: b, ip: '10.0.0.2', hostname: 'n1', disable: '1' },
    { node: 'n1', mac: a, ip: 'fd00::1', hostname: 'n1' },
    { node: 'n1', mac: 'nonsense', ip: '10.0.0.3', hostname: 'n1' },
  ];
  await own.put(...rows.map((row) => ['dhcphost', row] as const));
  await own.store.change(testOrigin, (head) => {
    const draft = new Draft(head);
    storeNextServer(draft, 'n1', '10.0.0.250');
    return draft.changes();
  });
  expect(own.rows('dhcphost')).toEqual(
    expect.arrayContaining([{ ...rows[0]!, nextserver: '10.0.0.250' }, ...rows.slice(1)]),
  );
  await own.close();
});
