import { describe, expect, it } from 'vitest';
import { outletsOf } from '../../../src/protocols/multicast/outlets.ts';

const info = (address: string, netmask: string, internal = false) => ({
  address,
  netmask,
  internal,
  mac: '',
  cidr: null,
  ...(address.includes(':') ? { family: 'IPv6' as const, scopeid: 2 } : { family: 'IPv4' as const }),
});

const interfaces = {
  lo: [info('127.0.0.1', '255.0.0.0', true), info('::1', 'ffff::', true)],
  eth0: [info('10.1.2.3', '255.255.252.0'), info('fd00::3', 'ffff::'), info('fe80::3', 'ffff:ffff::')],
  eth1: [info('192.168.1.1', '255.255.255.0'), info('192.168.2.1', '255.255.255.128')],
  tunnel: [info('10.9.9.1', '255.255.255.255'), info('10.9.9.4', '255.255.255.254')],
  bare: [info('fd01::1', 'ffff::')],
};

const shown = (chosen: string[] | undefined) =>
  outletsOf(chosen, interfaces).map(({ interface: name, address, broadcast }) => [name, address, broadcast]);

const eth0 = [
  ['eth0', '10.1.2.3', '10.1.3.255'],
  ['eth0', 'fe80::3%eth0', undefined],
];
const eth1 = [
  ['eth1', '192.168.1.1', '192.168.1.255'],
  ['eth1', '192.168.2.1', '192.168.2.127'],
];
const tunnel = [
  ['tunnel', '10.9.9.1', undefined],
  ['tunnel', '10.9.9.4', undefined],
];

describe('the outlets of', () => {
  it.each<[string, string[] | undefined, unknown]>([
    ['no chosen interface are those of all but loopback', undefined, [...eth0, ...eth1, ...tunnel]],
    ['an interface are all its IPv4 addresses and its link-local one', ['eth0'], eth0],
    ['several come in their order', ['eth1', 'eth0'], [...eth1, ...eth0]],
    ['an address is the one', ['192.168.2.1'], [eth1[1]]],
    ['loopback are there if it is chosen', ['lo'], [['lo', '127.0.0.1', '127.255.255.255']]],
    ['a tunnel have no broadcast', ['tunnel'], tunnel],
    ['no interface at all are none', [], []],
  ])('%s', (_name, chosen, expected) => {
    expect(shown(chosen)).toEqual(expected);
  });

  it.each(['eth9', 'bare', '10.1.2.4', '__proto__', ''])('%s are an error that says what there is', (name) => {
    expect(() => shown(['eth0', name])).toThrow(/discovery\.interfaces names .* lo, eth0, eth1, tunnel, bare\./);
  });
});
