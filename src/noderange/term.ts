import {
  compareEnds,
  countThrough,
  expandBrackets,
  isNumber,
  numbered,
  type Sequence,
  splitEnds,
  unclosedBracket,
} from './brackets.ts';
import { nameTest, parseCriterion } from './criterion.ts';
import type { Names } from './names.ts';
import {
  charge,
  chargeMaking,
  chargeScan,
  keep,
  longestName,
  malformed,
  noteUnknown,
  type Run,
  unknown,
} from './run.ts';

/** What a bare number is the number of. */
const numberPrefix = 'node';

/** Adds the names one term stands for: the first reading that fits wins, an existing node before all others. */
export function term(run: Run, text: string, at: number, out: Names): void {
  const { cluster } = run;
  if (cluster?.hasNode(text)) return keep(run, out, text);
  if (text.startsWith('/')) return pattern(run, text, at, out);
  if (cluster && /[=~]/.test(text)) {
    chargeScan(run, text, at);
    return members(run, cluster.select(parseCriterion(run, text, at), run.effort.patterns), out);
  }
  if (resolve(run, text, out)) return;
  const unclosed = unclosedBracket(text);
  if (unclosed >= 0) throw malformed(run, text.slice(unclosed), at + unclosed, 'has no closing bracket');
  if (text.startsWith('[')) return exactNames(run, text, at, out);
  const names = text.includes('[') ? expandBrackets(run, text, at) : undefined;
  if (!names) return counted(run, text, at, out);
  names.every((name) => {
    if (!resolve(run, name, out)) counted(run, name, at, out);
    return true;
  });
}

/** A node, a number or a group; false if the name is none of them. */
function resolve(run: Run, name: string, out: Names): boolean {
  const { cluster } = run;
  if (cluster?.hasNode(name)) {
    keep(run, out, name);
    return true;
  }
  if (isNumber(name)) {
    named(run, numberPrefix + name, out);
    return true;
  }
  const group = cluster?.group(name);
  if (group) members(run, group, out);
  return group !== undefined;
}

function named(run: Run, name: string, out: Names): void {
  if (!resolve(run, name, out)) unknown(run, out, name);
}

function members(run: Run, names: Iterable<string>, out: Names): void {
  for (const name of names) {
    charge(run, 1);
    keep(run, out, name);
  }
}

function pattern(run: Run, text: string, at: number, out: Names): void {
  if (!run.cluster || !run.verify) return unknown(run, out, text);
  chargeScan(run, text, at);
  const matches = nameTest(run, text, at);
  for (const name of run.cluster.nodeNames()) if (matches(name)) keep(run, out, name);
}

/** Brackets at the beginning give names as they stand, such as a node called 7 or n1-n3. With one unknown name the whole piece is unknown. */
function exactNames(run: Run, text: string, at: number, out: Names): void {
  const names = expandBrackets(run, text, at);
  if (!names) return unknown(run, out, text);
  if (run.verify && !names.every((name) => run.cluster?.hasNode(name) ?? false)) return unknown(run, out, text);
  names.every((name) => {
    if (!run.cluster?.hasNode(name)) noteUnknown(run, name);
    keep(run, out, name);
    return true;
  });
}

/** `base+3`, `n1-n5`, `n1:n5`, or a name after all. */
function counted(run: Run, text: string, at: number, out: Names): void {
  if (text.includes('+')) return plus(run, text, at, out);
  const [left = '', right = ''] = splitEnds(text) ?? [];
  const ends = left === '' ? undefined : compareEnds(left, right);
  if (ends === undefined) return unknown(run, out, text);
  if (ends === 'equal') return named(run, left, out);
  if (ends === 'several') throw malformed(run, text, at, 'has ends that differ in more than one number');
  if (Math.max(left.length, right.length) > longestName) throw malformed(run, text, at, 'has ends that are too long');
  const sequence = countThrough(ends);
  if ('wrong' in sequence) throw malformed(run, text, at, sequence.wrong);
  all(run, sequence, text, at, out);
}

/** The first number that ends the base or stands before a dot is counted up. */
function plus(run: Run, text: string, at: number, out: Names): void {
  const [, base = '', more = ''] = /^([^+]*)\+(\d+)$/.exec(text) ?? [];
  if (more === '') return unknown(run, out, text);
  if (base.length > longestName) throw malformed(run, text, at, 'counts from a name that is too long');
  const number = /\d+(?=\.|$)/.exec(base);
  // The reference system reports such a base as an empty name.
  if (!number) return unknown(run, out, text, '');
  const [digits] = number;
  const width = digits.startsWith('0') ? digits.length : 0;
  const before = base.slice(0, number.index);
  const after = base.slice(number.index + digits.length);
  all(run, numbered(before, BigInt(digits), Number(more) + 1, width, after), text, at, out);
}

function all(run: Run, sequence: Sequence, text: string, at: number, out: Names): void {
  chargeMaking(run, sequence.count, text, at);
  for (let i = 0; i < sequence.count; i++) named(run, sequence.item(i), out);
}
