/** Names that differ only in one number, as a range: n1, n2, n3, n10 are `n[1-3,10]`. Node ranges are read back the same. */
export function foldNames(names: Iterable<string>): string {
  const families = new Map<string, { before: string; after: string; width: number; numbers: Set<number> }>();
  const others: string[] = [];
  for (const name of names) {
    const match = /^(.*?)(\d+)([^\d]*)$/.exec(name);
    if (!match || match[2]!.length > 15) {
      others.push(name);
      continue;
    }
    const [, before = '', digits = '', after = ''] = match;
    // n1 and n01 are two nodes: numbers with leading zeros belong together only if they are equally wide.
    const width = digits.startsWith('0') && digits.length > 1 ? digits.length : 0;
    const key = JSON.stringify([before, after, width]);
    const family = families.get(key) ?? { before, after, width, numbers: new Set<number>() };
    families.set(key, family);
    family.numbers.add(Number(digits));
  }
  const folded = [...families.values()].map(({ before, after, width, numbers }) => {
    const pieces = stretches([...numbers].sort((a, b) => a - b)).map(([first, last]) =>
      first === last ? padded(first, width) : `${padded(first, width)}-${padded(last, width)}`,
    );
    const [piece = ''] = pieces;
    return pieces.length === 1 && !piece.includes('-')
      ? `${before}${piece}${after}`
      : `${before}[${pieces.join(',')}]${after}`;
  });
  return [...folded, ...others].join(',');
}

const padded = (number: number, width: number): string => String(number).padStart(width, '0');

function stretches(sorted: readonly number[]): [number, number][] {
  const found: [number, number][] = [];
  for (const number of sorted) {
    const last = found.at(-1);
    if (last && last[1] + 1 === number) last[1] = number;
    else found.push([number, number]);
  }
  return found;
}
