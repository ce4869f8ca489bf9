import { compareEnds, isNumber, splitEnds } from './sequence.ts';

/** How many numbers of a name may vary, counted from its end. */
const mostDimensions = 4;
/** Numbers with more digits are listed one by one: they are no longer exact. */
const mostDigits = 15;

/** A product of lists, as in `r[1-2]n[1-3]`: texts at the even places, at the odd ones the numbers (or a folded list). */
interface Item {
  parts: string[];
  /** Written out, its names would be read as ranges or bare numbers. */
  exact: boolean;
}

/** A short readable range for a set of node names; expanding it gives exactly the set again. */
export function fold(names: Iterable<string>): string {
  let items = [...new Set(names)].sort().map(itemOf);
  for (let fromEnd = 1; fromEnd <= mostDimensions; fromEnd++) items = foldNumber(items, fromEnd);
  return items.map(render).join(',');
}

function itemOf(name: string): Item {
  return { parts: name.split(/(\d+)/), exact: isMisread(name) };
}

function isMisread(name: string): boolean {
  if (isNumber(name)) return true;
  if (!/[-:]/.test(name)) return false;
  const [left = '', right = ''] = splitEnds(name) ?? [];
  return left !== '' && compareEnds(left, right) !== undefined;
}

/** Joins items that differ in one number only, the `fromEnd`-th from the end. */
function foldNumber(items: Item[], fromEnd: number): Item[] {
  const alike = new Map<string, { item: Item; values: string[] }>();
  for (const item of items) {
    const place = item.parts.length - 2 * fromEnd;
    const value = item.parts[place] ?? '';
    const key = `${item.exact ? '=' : ''}${place > 0 ? item.parts.with(place, '#').join('\n') : item.parts.join('\n')}`;
    const known = alike.get(key);
    if (known) known.values.push(value);
    else alike.set(key, { item, values: [value] });
  }
  return [...alike.values()].map(({ item, values }) => {
    if (values.length < 2) return item;
    return { ...item, parts: item.parts.with(item.parts.length - 2 * fromEnd, `[${foldValues(values)}]`) };
  });
}

/** Different digit strings to `1-9,12,007-010`. Each range stays within what counting from its left end gives. */
function foldValues(values: string[]): string {
  const sorted = values.sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  const runs: { from: string; to: string }[] = [];
  for (const value of sorted) {
    const last = runs.at(-1);
    if (last && follows(last.to, value)) last.to = value;
    else runs.push({ from: value, to: value });
  }
  return runs.map(({ from, to }) => (from === to ? from : `${from}-${to}`)).join(',');
}

/** Whether counting up from `a` gives `b` next, zeros in front included: 09 to 10, 99 to 100, never 9 to 010. */
function follows(a: string, b: string): boolean {
  if (b.length > mostDigits || Number(b) !== Number(a) + 1) return false;
  return a.length === b.length || !b.startsWith('0');
}

function render({ parts, exact }: Item): string {
  const [head = '', number = '', ...tail] = parts;
  if (!exact) return parts.join('');
  if (head !== '') return `[${head.slice(0, 1)}]${head.slice(1)}${number}${tail.join('')}`;
  return `${number.startsWith('[') ? number : `[${number}]`}${tail.join('')}`;
}
