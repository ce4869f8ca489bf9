import * as fc from 'fast-check';
import { SocketAddress } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  contains,
  ipKind,
  isNetworkEnd,
  ipText,
  maskBits,
  parseIp,
  parsePrefix,
  prefixText,
  reverseName,
} from '../../src/core/ip.ts';

const ip = (text: string) => parseIp(text)!;

describe('an address is read and written in one spelling', () => {
  it.each([
    ['0.0.0.0', '0.0.0.0'],
    ['10.1.255.254', '10.1.255.254'],
    ['255.255.255.255', '255.255.255.255'],
    ['::', '::'],
    ['::1', '::1'],
    ['FD00:0:0:0:0:0:0:1', 'fd00::1'],
    ['fd00:0:1:0:0:0:2:3', 'fd00:0:1::2:3'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['::ffff:10.1.0.1', '::ffff:a01:1'],
  ])('%s is %s', (text, canonical) => expect(ipText(ip(text))).toBe(canonical));

  it.each(['', '10.1.0', '10.1.0.256', '010.1.0.1', '10.1.0.1 ', '10.1.0.1\n', '0x0a.1.0.1', '167772161', 'n1'])(
    '"%s" is none',
    (text) => expect(parseIp(text)).toBeUndefined(),
  );

  it.each(['fe80::1%eth0', '1:2:3:4:5:6:7', '1::2::3', 'fd00::g', ':::', '[::1]', 'fd00::/64'])(
    '"%s" is none',
    (text) => expect(parseIp(text)).toBeUndefined(),
  );

  it('every address comes back from its text as the system writes it', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const canonical = ipText(ip(text));
        expect(ip(canonical)).toEqual(ip(text));
        const mapped = /^::(ffff:)?[0-9a-f]+:[0-9a-f]+$/.test(canonical);
        if (!mapped) expect(canonical).toBe(new SocketAddress({ address: text, family: 'ipv6' }).address);
      }),
    );
    fc.assert(
      fc.property(fc.ipV4(), (text) => {
        expect(ipText(ip(text))).toBe(text);
      }),
    );
  });
});

describe('a mask', () => {
  it.each([
    ['255.255.255.0', 4, 24],
    ['255.255.255.255', 4, 32],
    ['0.0.0.0', 4, 0],
    ['/22', 4, 22],
    ['/33', 4, undefined],
    ['255.0.255.0', 4, undefined],
    ['0.0.0.255', 4, undefined],
    ['/64', 6, 64],
    ['ffff:ffff:ffff:ffff::', 6, 64],
    ['/129', 6, undefined],
    ['255.255.255.0', 6, undefined],
    ['24', 4, undefined],
    ['', 4, undefined],
  ] as const)('%s of IPv%i has %s bits', (mask, family, bits) => expect(maskBits(mask, family)).toBe(bits));
});

describe('a network', () => {
  it.each([
    ['10.1.0.0/16', '10.1.255.255', true],
    ['10.1.0.0/16', '10.2.0.0', false],
    ['0.0.0.0/0', '10.2.0.0', true],
    ['10.1.0.1/32', '10.1.0.1', true],
    ['fd00::/64', 'fd00::ffff:1', true],
    ['fd00::/64', 'fd00:0:0:1::1', false],
    ['::/0', '10.1.0.1', false],
  ])('%s contains %s: %s', (network, address, inside) =>
    expect(contains(parsePrefix(network)!, ip(address))).toBe(inside),
  );

  it.each([
    ['10.1.2.3/16', '10.1.0.0/16'],
    ['fd00::1/64', 'fd00::/64'],
    ['10.1.0.0', undefined],
    ['10.1.0.0/33', undefined],
    ['10.1.0.0/16/8', undefined],
    ['n1/16', undefined],
  ])('%s is %s', (text, canonical) => {
    const prefix = parsePrefix(text);
    expect(prefix && prefixText(prefix)).toBe(canonical);
  });
});

it.each([
  ['10.1.2.3', '3.2.1.10.in-addr.arpa'],
  ['fd00::1', '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa'],
])('%s is looked up backwards as %s', (address, name) => expect(reverseName(ip(address))).toBe(name));

it.each([
  ['127.3.2.1', 'loopback'],
  ['::1', 'loopback'],
  ['::', 'unspecified'],
  ['0.0.0.0', 'unspecified'],
  ['224.0.0.1', 'multicast'],
  ['255.255.255.255', 'reserved'],
  ['ff02::1', 'multicast'],
  ['169.254.1.1', 'link-local'],
  ['fe80::1', 'link-local'],
  ['::ffff:10.0.0.1', 'IPv4-mapped'],
  ['10.1.0.1', 'host'],
  ['fd00::1', 'host'],
])('%s is of the kind %s', (address, kind) => expect(ipKind(ip(address))).toBe(kind));

it.each([
  ['10.0.0.0', '10.0.0.0/24', true],
  ['10.0.0.255', '10.0.0.0/24', true],
  ['10.0.0.255', '10.0.0.0/23', false],
  ['10.0.0.4', '10.0.0.4/31', false],
  ['10.0.0.4', '10.0.0.4/32', false],
  ['fd00::', 'fd00::/64', false],
])('%s is an end of %s: %s', (address, prefix, expected) =>
  expect(isNetworkEnd(parsePrefix(prefix)!, ip(address))).toBe(expected),
);
