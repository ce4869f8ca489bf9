import { expect, test } from 'vitest';
import { EnclosingNetworks } from '../../src/network-hints.ts';
import { parseIp, parsePrefix, prefixText } from '../../src/core/ip.ts';

const around = (addresses: readonly string[], known: readonly string[] = []): string[] | undefined => {
  const networks = new EnclosingNetworks(known.map((text) => parsePrefix(text)!));
  for (const address of addresses) networks.add(parseIp(address)!);
  return networks.atMost(3)?.map(prefixText);
};

test.for<[what: string, addresses: string[], known: string[], networks: string[] | undefined]>([
  ['no address', [], ['10.0.0.0/8'], []],
  ['an address', ['10.1.2.3'], [], ['10.1.2.0/24']],
  ['an IPv6 address', ['fd00:1::3'], [], ['fd00:1::/64']],
  ['addresses of one network', ['10.1.2.3', '10.1.2.250'], [], ['10.1.2.0/24']],
  ['an address of a known network', ['10.1.2.3'], ['10.1.0.0/16'], ['10.1.0.0/16']],
  ['an address of two known networks', ['10.1.2.3'], ['10.1.0.0/16', '10.1.2.0/28'], ['10.1.2.0/28']],
  ['a known network that is everything', ['10.1.2.3'], ['0.0.0.0/0'], ['10.1.2.0/24']],
  ['known and other networks', ['10.1.2.3', '10.2.2.3'], ['10.1.0.0/16'], ['10.1.0.0/16', '10.2.2.0/24']],
  ['both families', ['fd00::1', '10.2.2.3'], [], ['10.2.2.0/24', 'fd00::/64']],
  [
    'more than the wanted number, of which some lie together',
    ['10.1.0.1', '10.1.1.1', '10.1.2.1', '10.1.3.1', '192.168.7.1'],
    [],
    ['10.1.0.0/23', '10.1.2.0/23', '192.168.7.0/24'],
  ],
  [
    'many, in an island each',
    ['10.1.0.1', '10.1.8.1', '10.1.16.1', '10.1.200.1', '172.16.0.1', '172.16.9.1'],
    [],
    ['10.1.0.0/19', '10.1.200.0/24', '172.16.0.0/20'],
  ],
  ['addresses that are far apart', ['10.0.0.1', '20.0.0.1', '30.0.0.1', '40.0.0.1'], [], undefined],
  [
    'many IPv6 networks',
    ['fd00::1', 'fd00:0:0:1::1', 'fd00:0:0:2::1', 'fd00:0:0:3::1'],
    [],
    ['fd00::/63', 'fd00:0:0:2::/63'],
  ],
])('around %s', ([, addresses, known, networks]) => {
  expect(around(addresses, known)).toEqual(networks);
});

test('hold every address they were made from', () => {
  const addresses = Array.from({ length: 2_000 }, (_, i) => `10.${i % 7}.${(i * 37) % 251}.${i % 250}`);
  const networks = new EnclosingNetworks(around(addresses)!.map((text) => parsePrefix(text)!));
  for (const address of addresses) networks.add(parseIp(address)!);
  expect(networks.atMost(3)?.map(prefixText)).toEqual(around(addresses));
});
