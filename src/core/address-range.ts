import { isIPv4, isIPv6 } from 'node:net';
import { Fault } from './errors.ts';
import { dotted, dottedNumber } from './ip.ts';

const maximumAddresses = 65_536;

/**
 * IPv4 addresses of a range: lists of `10.0.0.1`, `10.0.0.1-10.0.0.20`, `10.0.0.1-20`, `10.0.0-3.1-20` and `10.0.0.0/24` (without its
 * network and broadcast address), separated by commas or blanks. IPv6 addresses are named one by one.
 */
export function expandAddresses(text: string): string[] {
  const found = new Set<string>();
  for (const piece of text.split(/[\s,]+/)) {
    if (piece === '') continue;
    for (const address of expandPiece(piece)) {
      found.add(address);
      if (found.size > maximumAddresses)
        throw new Fault('invalid', `"${text}" has more than ${maximumAddresses} addresses.`);
    }
  }
  if (found.size === 0) throw new Fault('invalid', 'No address was given; write for example 10.1.0.1-10.1.0.20.');
  return [...found];
}

function expandPiece(piece: string): Iterable<string> {
  if (isIPv4(piece) || isIPv6(piece)) return [piece];
  if (/(^|[.\-/])0\d/.test(piece))
    throw new Fault('invalid', `"${piece}": write the numbers of an address without leading zeros, such as 10.1.0.8.`);
  const block = /^([\d.]+)\/(\d{1,2})$/.exec(piece);
  if (block && isIPv4(block[1]!) && Number(block[2]) <= 32)
    return blockAddresses(dottedNumber(block[1]!), Number(block[2]), piece);
  const [from, to, ...more] = piece.split('-');
  if (from && to && more.length === 0 && isIPv4(from) && isIPv4(to))
    return between(dottedNumber(from), dottedNumber(to), piece);
  return byOctets(piece);
}

const unreadable = (piece: string): Fault =>
  new Fault(
    'invalid',
    `"${piece}" is not an address range; write for example 10.1.0.1, 10.1.0.1-10.1.0.20 or 10.1.0.0/24.`,
  );

function* between(from: number, to: number, piece: string): Iterable<string> {
  if (to < from) throw new Fault('invalid', `"${piece}" counts backwards.`);
  for (let value = from; value <= to; value++) yield dotted(value);
}

function blockAddresses(address: number, bits: number, piece: string): Iterable<string> {
  const size = 2 ** (32 - bits);
  const first = address - (address % size);
  return bits >= 31 ? between(first, first + size - 1, piece) : between(first + 1, first + size - 2, piece);
}

function* byOctets(piece: string): Iterable<string> {
  const octets = piece.split('.').map((octet) => {
    const match = /^(\d{1,3})(?:-(\d{1,3}))?$/.exec(octet);
    const from = Number(match?.[1]);
    const to = Number(match?.[2] ?? match?.[1]);
    if (!match || from > 255 || to > 255 || to < from) throw unreadable(piece);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
  const [a, b, c, d, ...more] = octets;
  if (!a || !b || !c || !d || more.length > 0) throw unreadable(piece);
  for (const first of a)
    for (const second of b)
      for (const third of c) for (const fourth of d) yield `${first}.${second}.${third}.${fourth}`;
}
