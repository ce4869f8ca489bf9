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
