/** What an expression yields: text (captures, strings) or a safe integer. */
export type Value = string | number;

/** The whole match at index 0, then `$1`, `$2`...; a group that took no part is undefined. */
export type Captures = readonly (string | undefined)[];

/** The one object thrown by a failing expression; shared, so that failing for every node of a large group stays cheap. */
export const failing = new Error('the expression cannot be computed');

export function fail(): never {
  throw failing;
}

/** An integer result; one that is not exact any more makes the expression fail. */
export function integer(value: number): number {
  return Number.isSafeInteger(value) ? value : fail();
}

/** The number a text starts with, in decimal whatever its leading zeros; 0 when it starts with none. */
export function toInteger(value: Value): number {
  if (typeof value === 'number') return value;
  let i = 0;
  while (value.charCodeAt(i) === 32) i++;
  const negative = value[i] === '-';
  if (negative || value[i] === '+') i++;
  let result = 0;
  for (; i < value.length; i++) {
    const digit = value.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) break;
    result = result * 10 + digit;
  }
  return integer(negative ? -result : result);
}

export function toText(value: Value): string {
  return typeof value === 'string' ? value : String(value);
}

export function isTrue(value: Value): boolean {
  return value !== '' && value !== '0' && value !== 0;
}

/** Comparisons yield 1, or the empty text when they do not hold. */
export function truth(holds: boolean): Value {
  return holds ? 1 : '';
}
