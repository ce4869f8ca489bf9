import { chargeMaking, longestName, malformed, type Run } from './run.ts';

/** Texts that can be counted through: `n08`, `n09`, `n10`. */
export interface Sequence {
  readonly count: number;
  item(index: number): string;
}

/** Two ends that differ in one number: what stands before it, after it, and the number at either end. */
interface Ends {
  before: string;
  from: string;
  to: string;
  after: string;
}

/** Reads `L-R` or `L:R`. With colons the first two fields count; with dashes the middle one of an odd number separates. */
export function splitEnds(text: string): [left: string, right: string] | undefined {
  if (text.includes(':')) {
    const [left = '', right = ''] = text.split(':', 2);
    return left === '' ? undefined : [left, right];
  }
  if (!text.includes('-')) return undefined;
  const parts = text.split('-');
  if (parts.length % 2 === 1) return undefined;
  const left = parts.slice(0, parts.length / 2).join('-');
  return left === '' ? undefined : [left, text.slice(left.length + 1)];
}

/** How the two ends relate; undefined if their texts differ, so that this is no range at all. */
export function compareEnds(left: string, right: string): Ends | 'equal' | 'several' | undefined {
  if (left === right) return 'equal';
  const a = left.match(/\d+|\D+/g) ?? [];
  const b = right.match(/\d+|\D+/g) ?? [];
  if (a.length !== b.length) return undefined;
  const differing: number[] = [];
  for (const [i, run] of a.entries()) {
    if (run === b[i]) continue;
    if (!isNumber(run) || !isNumber(b[i] ?? '')) return undefined;
    differing.push(i);
  }
  const [index = 0] = differing;
  if (differing.length > 1) return 'several';
  return {
    before: a.slice(0, index).join(''),
    from: a[index] ?? '',
    to: b[index] ?? '',
    after: a.slice(index + 1).join(''),
  };
}

export function isNumber(text: string): boolean {
  return /^\d+$/.test(text);
}

/** All texts from one end to the other, or a sentence part that says why there are none. */
export function countThrough(ends: Ends): Sequence | { wrong: string } {
  const { before, from, to, after } = ends;
  const padded = from.startsWith('0');
  if (padded && from.length > to.length) return { wrong: `counts from ${from} to the shorter ${to}` };
  const first = BigInt(from);
  const last = BigInt(to);
  if (first > last) return { wrong: `counts backwards from ${from} to ${to}` };
  return numbered(before, first, Number(last - first) + 1, padded ? from.length : 0, after);
}

/** `count` texts from the number `first` on, padded with zeros to `width`. */
export function numbered(before: string, first: bigint, count: number, width: number, after: string): Sequence {
  const start = Number(first);
  const exact = start + count <= Number.MAX_SAFE_INTEGER;
  return {
    count,
    item(index) {
      const digits = exact ? String(start + index) : String(first + BigInt(index));
      return before + (digits.length < width ? digits.padStart(width, '0') : digits) + after;
    },
  };
}

function single(text: string): Sequence {
  return { count: 1, item: () => text };
}

/** `a[1-3]b[4,6]c`: the texts a, b, c and between them the lists. */
interface Brackets {
  texts: string[];
  lists: { text: string; offset: number }[];
}

interface Piece extends Sequence {
  text: string;
  ends?: Ends;
}

/** The `]` that closes the `[` at `open`, or -1: brackets do not nest, so the next bracket has to be the closing one. */
export function closingBracket(text: string, open: number, end: number): number {
  for (let i = open + 1; i < end; i++) {
    if (text[i] === ']') return i;
    if (text[i] === '[') return -1;
  }
  return -1;
}

/** Where numbers begin whose bracket nothing closes, as in `n[1-`; -1 if there are none. */
export const unclosedBracket = (text: string): number => text.search(/\[\d[^[\]]*$/);

function parseBrackets(text: string): Brackets | undefined {
  const texts: string[] = [];
  const lists: Brackets['lists'] = [];
  let from = 0;
  for (let open = text.indexOf('['); open >= 0; open = text.indexOf('[', open + 1)) {
    const close = closingBracket(text, open, text.length);
    if (close <= open + 1) continue;
    texts.push(text.slice(from, open));
    lists.push({ text: text.slice(open + 1, close), offset: open + 1 });
    from = close + 1;
    open = close;
  }
  if (lists.length === 0) return undefined;
  texts.push(text.slice(from));
  return { texts, lists };
}

/** Names that are made one by one. */
interface Made {
  /** Whether all of them pass; the first that does not is the last that is made. */
  every(passes: (name: string) => boolean): boolean;
}

/** Every name a bracket expression stands for, duplicates included; undefined if the text has no brackets. */
export function expandBrackets(run: Run, text: string, at: number): Made | undefined {
  const parsed = parseBrackets(text);
  if (!parsed) return undefined;
  const { texts, lists } = parsed;
  const dimensions = lists.map((list) => parseList(run, list.text, at + list.offset));
  refuseDigitNeighbours(run, text, at, texts, dimensions);
  // `f[1-2]n1+1` counts on from the first name of each piece, as `f1n1+1-f2n1+1` does.
  if (texts.at(-1)?.includes('+')) dimensions.push(dimensions.pop()?.map((p) => ({ ...p, count: 1 })) ?? []);

  const total = dimensions.reduce((product, pieces) => product * sum(pieces.map((piece) => piece.count)), 1);
  chargeMaking(run, total, text, at);
  const longest = dimensions.map((pieces) =>
    pieces.reduce((most, piece) => Math.max(most, piece.item(piece.count - 1).length), 0),
  );
  if (sum(longest) + texts.join('').length > longestName) {
    throw malformed(run, text, at, `makes names longer than ${longestName} characters`);
  }

  return { every: (passes) => everyName(texts, dimensions, 0, texts[0] ?? '', passes) };
}

/** The names that begin with `start` and go on with the lists from the d-th on. */
function everyName(
  texts: readonly string[],
  dimensions: readonly Piece[][],
  d: number,
  start: string,
  passes: (name: string) => boolean,
): boolean {
  const isLast = d === dimensions.length - 1;
  const rest = texts[d + 1] ?? '';
  for (const piece of dimensions[d] ?? []) {
    for (let i = 0; i < piece.count; i++) {
      const name = start + piece.item(i) + rest;
      if (!(isLast ? passes(name) : everyName(texts, dimensions, d + 1, name, passes))) return false;
    }
  }
  return true;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function parseList(run: Run, list: string, at: number): Piece[] {
  const pieces: Piece[] = [];
  let offset = at;
  for (const text of list.split(',')) {
    if (text !== '') pieces.push(parsePiece(run, text, offset));
    offset += text.length + 1;
  }
  if (pieces.length === 0) throw malformed(run, `[${list}]`, at - 1, 'holds nothing between its commas');
  return pieces;
}

function parsePiece(run: Run, text: string, at: number): Piece {
  if (!/[-:]/.test(text)) return { text, ...single(text) };
  if (text.length > 2 * longestName) throw malformed(run, text, at, 'is too long');
  const [left = '', right = ''] = splitEnds(text) ?? [];
  const ends = left === '' ? undefined : compareEnds(left, right);
  if (ends === undefined) throw malformed(run, text, at, 'is not a range of numbers');
  if (ends === 'equal') return { text, ...single(left) };
  if (ends === 'several') throw malformed(run, text, at, 'has ends that differ in more than one number');
  const sequence = countThrough(ends);
  if ('wrong' in sequence) throw malformed(run, text, at, sequence.wrong);
  return { text, ends, ...sequence };
}

/** `n1[8-11]` could mean n18 to n111, and `n[1-3]0` n10 to n30: where the readings differ, somebody would get nodes they did not mean. */
function refuseDigitNeighbours(run: Run, text: string, at: number, texts: string[], dimensions: Piece[][]): void {
  for (const [d, pieces] of dimensions.entries()) {
    const left = texts[d] || (dimensions[d - 1]?.map((piece) => piece.item(0).at(-1)).join('') ?? '');
    const digitBefore = texts[d] ? /\d$/.test(left) : /\d/.test(left);
    const digitAfter = d === dimensions.length - 1 && /^\d/.test(texts[d + 1] ?? '');
    for (const { ends, text: piece } of pieces) {
      if (!ends) continue;
      const widens = digitBefore && ends.before === '' && ends.from.length !== ends.to.length;
      if (widens || (digitAfter && ends.after === '')) {
        throw malformed(
          run,
          text,
          at,
          `is ambiguous: the range ${piece} stands next to a digit; put the whole number inside the brackets`,
        );
      }
    }
  }
}
