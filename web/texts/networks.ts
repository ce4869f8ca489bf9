import { common, plural } from './common.ts';

const inUse = (what: string): string => `${what} in use`;

/** The page of networks. */
export const networks = {
  title: 'Networks',
  about: 'with the addresses of nodes, their NICs and BMCs, as they are defined',
  none: 'There are no networks yet.',
  firstStep: 'muster can take those of this server over:',
  firstLine: 'muster makenetworks',
  bmcOf: (node: string) => `BMC of ${node}`,
  drawing: (used: number, parts: number) => `${used} of ${plural(parts, 'part')} have addresses in use`,
  part: (where: string, what: string, isDynamic: boolean) => `${where}: ${what}${isDynamic ? ', DHCP' : ''}`,
  free: 'free',
  partUsed: (count: number, size: number) => inUse(common.doneOf(count, size)),
  used: (count: number) => inUse(count.toLocaleString('en-US')),
  unused: (count: number) => `${count.toLocaleString('en-US')} free`,
  firstFree: (address: string) => `first free: ${address}`,
  noneFree: 'no free address',
  dynamic: (first: string, last: string) => `, DHCP gives out ${common.fromTo(first, last)}`,
  notCounted: 'Addresses are counted in networks of IPv4 only.',
} as const;
