/** Texts that can be counted through: `n08`, `n09`, `n10`. */
export interface Sequence {
  readonly count: number;
  item(index: number): string;
}

/** Two ends that differ in one number: what stands before it, after it, and the number at either end. */
export interface Ends {
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

export function single(text: string): Sequence {
  return { count: 1, item: () => text };
}
