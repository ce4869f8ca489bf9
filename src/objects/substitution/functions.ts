import { dim2idx, ipadd, letterIndex, mknum, skip } from './helpers.ts';
import { sprintf } from './sprintf.ts';
import { fail, toInteger, toText, type Value } from './values.ts';

export interface ExpressionFunction {
  least: number;
  most: number;
  apply(args: readonly Value[]): Value;
}

/** Every function an expression may call. */
export const functions: Record<string, ExpressionFunction> = {
  a2idx: { least: 1, most: 1, apply: (args) => letterIndex(text(args, 0)) + 1 },
  a2zidx: { least: 1, most: 1, apply: (args) => letterIndex(text(args, 0)) },
  dim2idx: { least: 1, most: 99, apply: (args) => dim2idx(args.map(toInteger)) },
  skip: { least: 2, most: 2, apply: (args) => skip(number(args, 0), text(args, 1)) },
  ipadd: { least: 5, most: 7, apply: (args) => ipadd(args.map(toInteger)) },
  mknum: { least: 1, most: 1, apply: (args) => mknum(text(args, 0)) },
  lc: { least: 1, most: 1, apply: (args) => text(args, 0).toLowerCase() },
  uc: { least: 1, most: 1, apply: (args) => text(args, 0).toUpperCase() },
  length: { least: 1, most: 1, apply: (args) => text(args, 0).length },
  substr: { least: 2, most: 3, apply: substr },
  index: { least: 2, most: 3, apply: (args) => text(args, 0).indexOf(text(args, 1), number(args, 2)) },
  sprintf: { least: 1, most: 99, apply: (args) => sprintf(text(args, 0), args.slice(1)) },
  ord: { least: 1, most: 1, apply: (args) => text(args, 0).codePointAt(0) ?? 0 },
  chr: { least: 1, most: 1, apply: (args) => chr(number(args, 0)) },
  int: { least: 1, most: 1, apply: (args) => number(args, 0) },
  abs: { least: 1, most: 1, apply: (args) => Math.abs(number(args, 0)) },
};

function text(args: readonly Value[], position: number): string {
  return toText(args[position] ?? '');
}

function number(args: readonly Value[], position: number): number {
  return toInteger(args[position] ?? 0);
}

/** A negative offset counts from the end; a negative length leaves that many characters off the end. */
function substr(args: readonly Value[]): string {
  const whole = text(args, 0);
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
