import { fail, integer } from './values.ts';

/** The place of the first letter in the alphabet, a = 0; case does not matter. */
export function letterIndex(text: string): number {
  const index = text.toLowerCase().charCodeAt(0) - 97;
  return index >= 0 && index < 26 ? index : fail();
}

/**
 * `(v1, n2, v2, n3, v3...)`: the running number of a place in nested dimensions. Each v counts from 1 within its
 * dimension, each n is the size of the dimension of the v after it; the result counts from 1, too.
 */
export function dim2idx(args: readonly number[]): number {
  if (args.length % 2 === 0) fail();
  let index = (args[0] ?? fail()) - 1;
  for (let i = 1; i + 1 < args.length; i += 2) {
    index = integer(index * (args[i] ?? fail()) + (args[i + 1] ?? fail()) - 1);
  }
  return integer(index + 1);
}

/** The rank of `index` when the ranges `start[:count],...` are left out of the counting; -1 when it is itself left out. */
export function skip(index: number, ranges: string): number {
  let rank = index;
  for (const range of ranges.split(',')) {
    const parts = /^\s*(\d{1,15})\s*(?::\s*(\d{1,15})\s*)?$/.exec(range) ?? fail();
    const start = Number(parts[1]);
    const count = Number(parts[2] ?? 1);
    if (index >= start + count) rank = integer(rank - count);
    else if (index >= start) return -1;
  }
  return rank;
}

/**
 * `(o1, o2, o3, o4, add, skipstart, skipend)`: the address `add` places after o1.o2.o3.o4, where every /24 offers
 * only the addresses between its first `skipstart` and its last `skipend` ones.
 */
export function ipadd(args: readonly number[]): string {
  const [o1 = 0, o2 = 0, o3 = 0, o4 = 0, add = 0, skipStart = 0, skipEnd = 0] = args;
  const usable = 256 - skipStart - skipEnd;
  if (skipStart < 0 || skipEnd < 0 || usable < 1) fail();
  const place = integer(o4 - skipStart + add);
  const block = integer((o1 * 256 + o2) * 256 + o3 + Math.floor(place / usable));
  if (block < 0 || block > 0xffffff) fail();
  const last = skipStart + (((place % usable) + usable) % usable);
  return `${Math.floor(block / 65536)}.${Math.floor(block / 256) % 256}.${block % 256}.${last}`;
}

/** The sum of the character codes. */
export function mknum(text: string): number {
  let sum = 0;
  for (let i = 0; i < text.length; i++) sum += text.charCodeAt(i);
  return sum;
}
