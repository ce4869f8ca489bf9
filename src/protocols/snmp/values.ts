import { type Binding, decodeOid, encode, encodeInteger, type Oid, tags } from './message.ts';

/** What values mean. Whatever an agent sends is text to be bounded, or a number to be checked. */

const numbers: readonly number[] = [tags.integer, tags.counter, tags.gauge, tags.ticks, tags.counter64];

/** Undefined: it is no number, or too large for one. */
export function numberOf({ tag, content }: Pick<Binding, 'tag' | 'content'>): number | undefined {
  if (!numbers.includes(tag) || content.length === 0 || content.length > 9) return undefined;
  let value = tag === tags.integer ? BigInt(content.readInt8(0)) : BigInt(content[0]!);
  for (const byte of content.subarray(1)) value = value * 256n + BigInt(byte);
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : undefined;
}

const longest = 256;

/** One line of printable text. */
export const textOf = (content: Buffer | undefined): string =>
  (content?.toString('utf8') ?? '')
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, longest);

export function oidOf({ tag, content }: Pick<Binding, 'tag' | 'content'>): Oid | undefined {
  return tag === tags.oid ? decodeOid(content) : undefined;
}

export const isAbsent = ({ tag }: Pick<Binding, 'tag'>): boolean => tag >= tags.noObject && tag <= tags.endOfView;

export const integerValue = encodeInteger;
export const octetsValue = (text: string): Buffer => encode(tags.octets, Buffer.from(text));

/** `1.3.6.1`, with or without a dot before it. */
export const parseOid = (text: string): Oid => text.replace(/^\./, '').split('.').map(Number);

export const isBelow = (oid: Oid, base: Oid): boolean =>
  oid.length > base.length && base.every((part, at) => oid[at] === part);

export function isAfter(oid: Oid, before: Oid): boolean {
  const at = oid.findIndex((part, index) => part !== before[index]);
  return at >= 0 && (at >= before.length || oid[at]! > before[at]!);
}
