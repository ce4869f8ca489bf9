interface Family {
  readonly before: string;
  readonly width: number;
  readonly after: string;
  readonly numbers: number[];
}

/** Names as a short node range: `n[1-3,7],login`. */
export function folded(names: Iterable<string>): string {
  const single: string[] = [];
  const families = new Map<string, Family>();
  const all = [...names];
  const padded = new Set<string>();
  const form = (before: string, after: string, width: number): string => JSON.stringify([before, after, width]);
  for (const name of all) {
    const [, before = '', digits = '', after = ''] = /^(\D*)(0\d{1,14})(\D*)$/.exec(name) ?? [];
    if (digits !== '') padded.add(form(before, after, digits.length));
  }
  for (const name of all) {
    // Beyond fifteen digits numbers are not exact.
    const [, before = '', digits, after = ''] = /^(\D*)(\d{1,15})(\D*)$/.exec(name) ?? [];
    if (digits === undefined) {
      single.push(name);
      continue;
    }
    // n10 stands beside n08, but n8 does not.
    const width = padded.has(form(before, after, digits.length)) ? digits.length : 0;
    const key = form(before, after, width);
    const family = families.get(key) ?? { before, width, after, numbers: [] };
    family.numbers.push(Number(digits));
    families.set(key, family);
  }
  return [...[...families.values()].map(rangeOf), ...single].join(',');
}

function rangeOf({ before, width, after, numbers }: Family): string {
  const text = (number: number): string => String(number).padStart(width, '0');
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  if (sorted.length === 1) return before + text(sorted[0]!) + after;
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; ) {
    let end = i;
    while (sorted[end + 1] === sorted[end]! + 1) end++;
    parts.push(end === i ? text(sorted[i]!) : `${text(sorted[i]!)}-${text(sorted[end]!)}`);
    i = end + 1;
  }
  return `${before}[${parts.join(',')}]${after}`;
}

/** So that n2 stands before n10. */
export const byName = new Intl.Collator('en', { numeric: true }).compare;
