import { fail, integer, toInteger, toText, truth, type Value } from './values.ts';

interface Operation {
  /** The higher, the tighter it binds; levels 1 and 2 are those of || and &&. */
  level: number;
  apply(left: Value, right: Value): Value;
}

const operations: Record<string, Operation> = {
  eq: { level: 3, apply: (a, b) => truth(toText(a) === toText(b)) },
  ne: { level: 3, apply: (a, b) => truth(toText(a) !== toText(b)) },
  '==': { level: 3, apply: (a, b) => truth(toInteger(a) === toInteger(b)) },
  '!=': { level: 3, apply: (a, b) => truth(toInteger(a) !== toInteger(b)) },
  lt: { level: 4, apply: (a, b) => truth(toText(a) < toText(b)) },
  gt: { level: 4, apply: (a, b) => truth(toText(a) > toText(b)) },
  le: { level: 4, apply: (a, b) => truth(toText(a) <= toText(b)) },
  ge: { level: 4, apply: (a, b) => truth(toText(a) >= toText(b)) },
  '<': { level: 4, apply: (a, b) => truth(toInteger(a) < toInteger(b)) },
  '>': { level: 4, apply: (a, b) => truth(toInteger(a) > toInteger(b)) },
  '<=': { level: 4, apply: (a, b) => truth(toInteger(a) <= toInteger(b)) },
  '>=': { level: 4, apply: (a, b) => truth(toInteger(a) >= toInteger(b)) },
  '+': { level: 5, apply: (a, b) => integer(toInteger(a) + toInteger(b)) },
  '-': { level: 5, apply: (a, b) => integer(toInteger(a) - toInteger(b)) },
  '.': { level: 5, apply: (a, b) => toText(a) + toText(b) },
  '*': { level: 6, apply: (a, b) => integer(toInteger(a) * toInteger(b)) },
  '/': { level: 6, apply: (a, b) => quotient(toInteger(a), divisor(b)) },
  '%': { level: 6, apply: (a, b) => toInteger(a) % divisor(b) },
};

function divisor(value: Value): number {
  return toInteger(value) || fail();
}

/** Taking the remainder off first keeps the division exact for large numbers. */
function quotient(dividend: number, by: number): number {
  return (dividend - (dividend % by)) / by;
}

export function operationOf(text: string): Operation | undefined {
  return Object.hasOwn(operations, text) ? operations[text] : undefined;
}

interface ExpressionFunction {
  least: number;
  most: number;
  apply(args: readonly Value[]): Value;
}

/** Every function an expression may call. */
export const functions: Record<string, ExpressionFunction> = {
  a2idx: { least: 1, most: 1, apply: (args) => letterIndex(textArgument(args, 0)) + 1 },
  a2zidx: { least: 1, most: 1, apply: (args) => letterIndex(textArgument(args, 0)) },
  dim2idx: { least: 1, most: 99, apply: (args) => dim2idx(args.map(toInteger)) },
  skip: { least: 2, most: 2, apply: (args) => skip(number(args, 0), textArgument(args, 1)) },
  ipadd: { least: 5, most: 7, apply: (args) => ipadd(args.map(toInteger)) },
  mknum: { least: 1, most: 1, apply: (args) => mknum(textArgument(args, 0)) },
  lc: { least: 1, most: 1, apply: (args) => textArgument(args, 0).toLowerCase() },
  uc: { least: 1, most: 1, apply: (args) => textArgument(args, 0).toUpperCase() },
  length: { least: 1, most: 1, apply: (args) => textArgument(args, 0).length },
  substr: { least: 2, most: 3, apply: substr },
  index: { least: 2, most: 3, apply: (args) => textArgument(args, 0).indexOf(textArgument(args, 1), number(args, 2)) },
  sprintf: { least: 1, most: 99, apply: (args) => sprintf(textArgument(args, 0), args.slice(1)) },
  ord: { least: 1, most: 1, apply: (args) => textArgument(args, 0).codePointAt(0) ?? 0 },
  chr: { least: 1, most: 1, apply: (args) => chr(number(args, 0)) },
  int: { least: 1, most: 1, apply: (args) => number(args, 0) },
  abs: { least: 1, most: 1, apply: (args) => Math.abs(number(args, 0)) },
};

function textArgument(args: readonly Value[], position: number): string {
  return toText(args[position] ?? '');
}

function number(args: readonly Value[], position: number): number {
  return toInteger(args[position] ?? 0);
}

/** A negative offset counts from the end; a negative length leaves that many characters off the end. */
function substr(args: readonly Value[]): string {
  const whole = textArgument(args, 0);
  const offset = number(args, 1);
  const start = offset < 0 ? Math.max(whole.length + offset, 0) : offset;
  if (args.length === 2) return whole.slice(start);
  const length = number(args, 2);
  return length < 0 ? whole.slice(start, Math.max(whole.length + length, start)) : whole.slice(start, start + length);
}

function chr(code: number): string {
  const isCharacter = code >= 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : fail();
}

/** The position of the first letter in the alphabet, a = 0; case does not matter. */
function letterIndex(word: string): number {
  const index = word.toLowerCase().charCodeAt(0) - 97;
  return index >= 0 && index < 26 ? index : fail();
}

/** `(v1, n2, v2, n3, v3...)`: the number of a position in nested dimensions, from 1; each n is the size of the dimension of the v after it. */
function dim2idx(args: readonly number[]): number {
  if (args.length % 2 === 0) fail();
  let index = (args[0] ?? fail()) - 1;
  for (let i = 1; i + 1 < args.length; i += 2) {
    index = integer(index * (args[i] ?? fail()) + (args[i + 1] ?? fail()) - 1);
  }
  return integer(index + 1);
}

/** The rank of `index` when the ranges `start[:count],...` are left out of the counting; -1 when it is itself left out. */
function skip(index: number, ranges: string): number {
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

/** `(o1, o2, o3, o4, add, skipstart, skipend)`: the address `add` after o1.o2.o3.o4, where a /24 lacks its first and last so many. */
function ipadd(args: readonly number[]): string {
  const [o1 = 0, o2 = 0, o3 = 0, o4 = 0, add = 0, skipStart = 0, skipEnd = 0] = args;
  const usable = 256 - skipStart - skipEnd;
  if (skipStart < 0 || skipEnd < 0 || usable < 1) fail();
  const position = integer(o4 - skipStart + add);
  const block = integer((o1 * 256 + o2) * 256 + o3 + Math.floor(position / usable));
  if (block < 0 || block > 0xffffff) fail();
  const last = skipStart + (((position % usable) + usable) % usable);
  return `${Math.floor(block / 65536)}.${Math.floor(block / 256) % 256}.${block % 256}.${last}`;
}

/** The sum of the character codes. */
function mknum(word: string): number {
  let sum = 0;
  for (let i = 0; i < word.length; i++) sum += word.charCodeAt(i);
  return sum;
}

const directive = /%(-?)(0?)(\d{0,3})([dxXos%])|%/g;

/** %d %x %X %o %s with an optional width, left-aligned by `-`, filled with zeros by `0`; any other directive fails. */
function sprintf(format: string, args: readonly Value[]): string {
  let next = 0;
  return format.replace(directive, (_all, left: string, zero: string, width: string, kind: string | undefined) => {
    if (kind === undefined) fail();
    if (kind === '%') return '%';
    const shown = show(kind, args[next++] ?? '');
    const wanted = Number(width);
    if (left) return shown.padEnd(wanted);
    if (!zero) return shown.padStart(wanted);
    return shown.startsWith('-') && kind === 'd'
      ? `-${shown.slice(1).padStart(wanted - 1, '0')}`
      : shown.padStart(wanted, '0');
  });
}

function show(kind: string, value: Value): string {
  if (kind === 's') return toText(value);
  const integerValue = toInteger(value);
  if (kind === 'd') return String(integerValue);
  if (integerValue < 0) fail();
  const digits = integerValue.toString(kind === 'o' ? 8 : 16);
  return kind === 'X' ? digits.toUpperCase() : digits;
}
