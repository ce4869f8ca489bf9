import { Fault } from '../core/errors.ts';
import { closingBracket } from './brackets.ts';
import { Names } from './names.ts';
import { charge, deepestNesting, malformed, type Run, startRun, unknown, keep } from './run.ts';
import { term } from './term.ts';

type Operator = 'add' | 'remove' | 'intersect';

/** For every `(` the offset of its `)`. */
type Pairs = ReadonlyMap<number, number>;

interface Slice {
  from: number;
  to: number;
}

/** The set of names a whole text stands for. */
export function evaluate(run: Run): Names {
  return range(run, pairParentheses(run), { from: 0, to: run.text.length }, 0);
}

function pairParentheses(run: Run): Pairs {
  const pairs = new Map<number, number>();
  if (!run.text.includes('(')) return pairs;
  const open: number[] = [];
  for (let i = 0; i < run.text.length; i++) {
    if (run.text[i] === '(') open.push(i);
    else if (run.text[i] === ')') {
      const from = open.pop();
      if (from !== undefined) pairs.set(from, i);
    }
  }
  const [unclosed] = open;
  if (unclosed !== undefined) throw malformed(run, '(', unclosed, 'has no closing parenthesis');
  return pairs;
}

/** The first parenthesis binds to all before it: `a,(b)@c` is (a and b) at c. What follows is a list; exclusions are taken out at its end. */
function range(run: Run, pairs: Pairs, slice: Slice, depth: number): Names {
  if (depth > deepestNesting) {
    throw malformed(
      run,
      run.text.slice(slice.from, slice.to),
      slice.from,
      `is nested more than ${deepestNesting} deep`,
    );
  }
  let nodes = new Names();
  let { from } = slice;
  const open = pairs.size > 0 ? nextParenthesis(run, pairs, slice) : -1;
  if (open >= 0) {
    const { operator, end } = operatorBefore(run.text, from, open);
    const close = pairs.get(open) ?? open;
    if (end > from) nodes = range(run, pairs, { from, to: end }, depth + 1);
    const inner = range(run, pairs, { from: open + 1, to: close }, depth + 1);
    nodes = operator === 'add' && nodes.isEmpty ? inner : combine(run, nodes, operator, inner);
    from = close + 1;
  }
  return list(run, pairs, { from, to: slice.to }, depth, nodes);
}

function list(run: Run, pairs: Pairs, slice: Slice, depth: number, start: Names): Names {
  let nodes = start;
  const removed = new Names();
  let elements = split(run.text, pairs, slice, ',');
  const chain = elements.length === 1;
  if (chain) elements = split(run.text, pairs, slice, '@');
  for (const [i, element] of elements.entries()) {
    const { operator, from } = operatorOf(run.text, element, chain && i > 0);
    const { to } = element;
    if (from === to) continue;
    if (run.text[from] === '^' && (chain || split(run.text, pairs, { from, to }, '@').length === 1)) {
      rangeFile(run, { from, to }, depth > 0, nodes);
    } else if (operator === 'add') {
      addElement(run, pairs, { from, to }, depth, nodes);
    } else if (operator === 'remove') {
      addElement(run, pairs, { from, to }, depth, removed);
    } else {
      const found = new Names();
      addElement(run, pairs, { from, to }, depth, found);
      nodes = combine(run, nodes, operator, found);
    }
  }
  return removed.isEmpty ? nodes : combine(run, nodes, 'remove', removed);
}

function addElement(run: Run, pairs: Pairs, slice: Slice, depth: number, out: Names): void {
  const nested =
    (pairs.size > 0 && nextParenthesis(run, pairs, slice) >= 0) || split(run.text, pairs, slice, '@').length > 1;
  if (!nested) return term(run, run.text.slice(slice.from, slice.to), slice.from, out);
  combine(run, out, 'add', range(run, pairs, slice, depth + 1));
}

function combine(run: Run, nodes: Names, operator: Operator, found: Names): Names {
  charge(run, found.size + (operator === 'add' ? 0 : nodes.size));
  if (operator === 'intersect') return nodes.intersection(seen(run, found));
  if (operator === 'remove') return nodes.difference(seen(run, found));
  for (const name of found.list()) keep(run, nodes, name);
  return nodes;
}

export function seen({ cluster }: Pick<Run, 'cluster'>, names: Names): Names {
  if (!cluster?.sees) return names;
  return Names.ordered(names.list().filter((name) => cluster.sees!(name)));
}

/** The sign of an element and where the element goes on; after an `@` a minus means nothing. */
function operatorOf(text: string, { from, to }: Slice, chained: boolean): { operator: Operator; from: number } {
  let operator: Operator = chained ? 'intersect' : 'add';
  let start = from;
  if (!chained && start < to && text[start] === '@') {
    operator = 'intersect';
    start++;
  }
  if (start < to && text[start] === '-') {
    if (operator === 'add') operator = 'remove';
    start++;
  }
  return { operator, from: start };
}

/** The operator directly before a parenthesis, and where the text before it ends. */
function operatorBefore(text: string, from: number, open: number): { operator: Operator; end: number } {
  const before = (at: number) => (at > from ? text[at - 1] : ',');
  const minus = open > from && before(open) === '-' && /[,@]/.test(before(open - 1) ?? '');
  const end = minus ? open - 1 : open;
  if (end > from && before(end) === '@') return { operator: 'intersect', end: end - 1 };
  return { operator: minus ? 'remove' : 'add', end };
}

function nextParenthesis(run: Run, pairs: Pairs, { from, to }: Slice): number {
  for (let i = from; i < to; i++) if (run.text[i] === '(' && pairs.has(i)) return i;
  return -1;
}

/** Cuts at a separator that stands neither in parentheses nor in brackets. */
function split(text: string, pairs: Pairs, { from, to }: Slice, separator: string): Slice[] {
  const slices: Slice[] = [];
  let start = from;
  let bracketEnd = -1;
  for (let i = from; i < to; i++) {
    const char = text[i];
    if (char === '(') i = pairs.get(i) ?? i;
    else if (char === '[') bracketEnd = Math.max(bracketEnd, closingBracket(text, i, to));
    else if (char === separator && i > bracketEnd) {
      slices.push({ from: start, to: i });
      start = i + 1;
    }
  }
  slices.push({ from: start, to });
  return slices;
}

/**
 * Every line is a range of its own; as in the reference system, at the top level only the last line's unknown names count. Nothing of
 * the file is ever quoted: a line's number stands for its unknown names.
 */
function rangeFile(run: Run, { from, to }: Slice, nested: boolean, out: Names): void {
  const piece = run.text.slice(from, to);
  if (run.origin === 'range file') throw malformed(run, piece, from, 'asks for another file');
  if (!run.cluster?.file)
    throw malformed(
      run,
      piece,
      from,
      'asks for a range file, and the setting rangeFiles names no directory of such files',
    );
  let missed: string[] = [];
  for (const [i, line] of (run.cluster.file(piece.slice(1)) ?? []).entries()) {
    if (/^[#^]/.test(line)) continue;
    if (!nested) missed = [];
    // Unknown names are missed in any case: as literal names they would show up in errors.
    const inner = startRun(line.replace(/[\s:].*$/s, ''), 'range file', { ...run, verify: true });
    for (const name of evaluateLine(inner, piece, i + 1).list()) keep(run, out, name);
    if (inner.missed.length > 0) missed.push(`${piece}:${i + 1}`);
  }
  for (const name of missed) unknown(run, out, name);
}

function evaluateLine(run: Run, file: string, line: number): Names {
  try {
    return evaluate(run);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Fault('invalid', `Line ${line} of the range file "${file}" is malformed or stands for too many names.`);
  }
}
