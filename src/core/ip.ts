import { isIPv4, isIPv6 } from 'node:net';
import { Fault } from './errors.ts';

/** An address as a number. */
export interface Ip {
  readonly family: 4 | 6;
  readonly value: bigint;
}

/** A network: its first address and the length of the part that its addresses share. */
export interface Prefix {
  readonly family: 4 | 6;
  readonly value: bigint;
  readonly bits: number;
}

export const widthOf = (family: 4 | 6): 32 | 128 => (family === 4 ? 32 : 128);

/** IPv4 without leading zeros, IPv6 without a zone; undefined if it is neither. */
export function parseIp(text: string): Ip | undefined {
  if (isIPv4(text)) return { family: 4, value: BigInt(dottedNumber(text)) };
  if (text.includes('%') || !isIPv6(text)) return undefined;
  return { family: 6, value: BigInt(`0x${hexGroups(text).join('')}`) };
}

const dottedNumber = (text: string): number => text.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);

/** The eight groups of an IPv6 address with four digits each. */
function hexGroups(text: string): string[] {
  const [head = '', tail] = text.split('::', 2);
  const left = groupsOf(head);
  if (tail === undefined) return left;
  const right = groupsOf(tail);
  return [...left, ...new Array<string>(8 - left.length - right.length).fill('0000'), ...right];
}

function groupsOf(text: string): string[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return group.padStart(4, '0');
    const digits = dottedNumber(group).toString(16).padStart(8, '0');
    return [digits.slice(0, 4), digits.slice(4)];
  });
}

/** The one spelling of an address: IPv6 in lower case with its longest run of zeros shortened (RFC 5952). */
export function ipText({ family, value }: Ip): string {
  if (family === 4) return dotted(Number(value));
  const groups = digitsOf(value, 32)
    .match(/.{4}/g)!
    .map((group) => group.replace(/^0{1,3}/, ''));
  const zeros = longestZeros(groups);
  if (zeros.length < 2) return groups.join(':');
  const before = groups.slice(0, zeros.at).join(':');
  const after = groups.slice(zeros.at + zeros.length).join(':');
  return `${before}::${after}`;
}

export const dotted = (number: number): string =>
  `${number >>> 24}.${(number >>> 16) & 255}.${(number >>> 8) & 255}.${number & 255}`;

/** Equal for equal addresses and for no others: numbers stand for IPv4. */
export const ipKey = ({ family, value }: Ip): number | bigint => (family === 4 ? Number(value) : value);

export const isSameIp = (a: Ip, b: Ip): boolean => a.family === b.family && a.value === b.value;

const digitsOf = (value: bigint, length: number): string => value.toString(16).padStart(length, '0');

function longestZeros(groups: readonly string[]): { at: number; length: number } {
  let best = { at: 0, length: 0 };
  for (let at = 0; at < groups.length; at++) {
    let end = at;
    while (groups[end] === '0') end++;
    if (end - at > best.length) best = { at, length: end - at };
    at = Math.max(at, end);
  }
  return best;
}

export const prefixText = (prefix: Prefix): string => `${ipText(prefix)}/${prefix.bits}`;

/** The network of that length an address is in. */
export function prefixOf({ family, value }: Ip, bits: number): Prefix {
  const rest = BigInt(widthOf(family) - bits);
  return { family, value: (value >> rest) << rest, bits };
}

export function contains(prefix: Prefix, ip: Ip): boolean {
  if (prefix.family !== ip.family) return false;
  const rest = BigInt(widthOf(ip.family) - prefix.bits);
  return prefix.value >> rest === ip.value >> rest;
}

export const lastAddress = ({ family, value, bits }: Prefix): Ip => ({
  family,
  value: value + (1n << BigInt(widthOf(family) - bits)) - 1n,
});

/** Whether it is the address of the network itself or its broadcast address, which no host has. */
export function isNetworkEnd(prefix: Prefix, { family, value }: Ip): boolean {
  if (family !== 4 || prefix.family !== 4 || prefix.bits >= 31) return false;
  return value === prefix.value || value === lastAddress(prefix).value;
}

/** The length a mask stands for: `255.255.255.0`, `/24`, `ffff:ffff::` or `/64`. */
export function maskBits(mask: string, family: 4 | 6): number | undefined {
  const width = widthOf(family);
  const length = /^\/(\d{1,3})$/.exec(mask)?.[1];
  if (length !== undefined) return Number(length) <= width ? Number(length) : undefined;
  const ip = parseIp(mask);
  if (!ip || ip.family !== family) return undefined;
  const inverse = (1n << BigInt(width)) - 1n - ip.value;
  const digits = inverse === 0n ? '' : inverse.toString(2);
  return digits.includes('0') ? undefined : width - digits.length;
}

/** The name under which the address is looked up backwards, without a dot at its end. */
export function reverseName({ family, value }: Ip): string {
  if (family === 4) return `${[0n, 8n, 16n, 24n].map((shift) => (value >> shift) & 255n).join('.')}.in-addr.arpa`;
  return `${digitsOf(value, 32).split('').reverse().join('.')}.ip6.arpa`;
}

const parsePrefixes = (texts: readonly string[]): Prefix[] => texts.map((text) => parsePrefix(text)!);

/** `10.0.0.0/8` or `fd00::/8`; undefined if it is no network. */
export function parsePrefix(text: string): Prefix | undefined {
  const [address = '', length = '', ...more] = text.split('/');
  const ip = parseIp(address);
  const bits = ip && /^\d{1,3}$/.test(length) && more.length === 0 ? maskBits(`/${length}`, ip.family) : undefined;
  return ip && bits !== undefined ? prefixOf(ip, bits) : undefined;
}

const kinds = [
  { kind: 'loopback', prefixes: parsePrefixes(['127.0.0.0/8', '::1/128']) },
  { kind: 'unspecified', prefixes: parsePrefixes(['0.0.0.0/8', '::/128']) },
  { kind: 'multicast', prefixes: parsePrefixes(['224.0.0.0/4', 'ff00::/8']) },
  { kind: 'reserved', prefixes: parsePrefixes(['240.0.0.0/4']) },
  { kind: 'link-local', prefixes: parsePrefixes(['169.254.0.0/16', 'fe80::/10']) },
  { kind: 'IPv4-mapped', prefixes: parsePrefixes(['::ffff:0:0/96']) },
] as const;

export type IpKind = (typeof kinds)[number]['kind'] | 'host';

/** Whether an address can be that of another host, or what it is instead. */
export function ipKind(ip: Ip): IpKind {
  return kinds.find(({ prefixes }) => prefixes.some((prefix) => contains(prefix, ip)))?.kind ?? 'host';
}

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
