import { isIPv6, SocketAddress } from 'node:net';

/** One spelling per address: IPv6 compressed and in lower case, IPv4 inside IPv6 as IPv4, no zone; other text in lower case. */
export function canonicalAddress(text: string): string {
  const plain = text.trim().toLowerCase();
  if (!plain.includes(':') || !isIPv6(plain)) return plain;
  const [address = ''] = plain.split('%', 1);
  const short = new SocketAddress({ address, family: 'ipv6' }).address;
  return short.startsWith('::ffff:') && short.includes('.') ? short.slice('::ffff:'.length) : short;
}

/** What failed logins are counted by. A single host owns a whole IPv6 /64 and could otherwise take a new address for every guess. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const short = canonicalAddress(address);
  if (!short.includes(':')) return short;
  const [head = '', tail = ''] = short.split('::');
  const left = head.split(':').filter((group) => group !== '');
  const right = tail.split(':').filter((group) => group !== '');
  const gap = short.includes('::') ? new Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0') : [];
  return `${[...left, ...gap, ...right].slice(0, 4).join(':')}::/64`;
}
