import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Addresses of this machine and of its links, where services listen that trust whoever can reach them. */
const inner = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 3],
] as const)
  inner.addSubnet(network, bits, 'ipv4');
for (const [network, bits] of [
  // With addresses of IPv4 in their last part, as in ::127.0.0.1.
  ['::', 96],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  inner.addSubnet(network, bits, 'ipv6');

/** Its own addresses lead to this machine too, in either way of writing them. */
const isOwn = (address: string): boolean => {
  const own = new BlockList();
  for (const interfaces of Object.values(networkInterfaces()))
    for (const { address: each, family } of interfaces ?? []) own.addAddress(each, family === 'IPv6' ? 'ipv6' : 'ipv4');
  return own.check(address, familyOf(address));
};

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

export const isInner = (address: string): boolean => inner.check(address, familyOf(address)) || isOwn(address);
