import { type Prefix, prefixText } from '../../core/ip.ts';

/**
 * Leases and reservations refer to a subnet by a number of 32 bits, so it must stay the same whatever else is defined. In IPv4 it is
 * the network's address itself, in IPv6 a hash of the prefix; should two be equal, the later prefix gets the next free one.
 */
export function subnetIds(prefixes: readonly Prefix[]): number[] {
  const taken = new Set<number>();
  const order = prefixes.map((prefix, index) => ({ prefix, index, text: prefixText(prefix) }));
  const ids = new Array<number>(prefixes.length);
  for (const { prefix, index, text } of order.toSorted((a, b) => (a.text < b.text ? -1 : 1))) {
    let id = prefix.family === 4 ? Number(prefix.value) : hash(text);
    while (taken.has(id)) id = (id % highest) + 1;
    taken.add(id);
    ids[index] = id;
  }
  return ids;
}

const highest = 4_294_967_294;

/** FNV-1a, never 0 (which Kea uses for reservations of no subnet) and never the highest number. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return (value % (highest - 1)) + 1;
}
