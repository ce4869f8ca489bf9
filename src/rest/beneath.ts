import { suggestion } from '../core/nearest.ts';

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '');
const isParameter = (segment: string): boolean => segment.startsWith('{');

/**
 * For those who ask for a path of a root at which there is nothing: what there is below it, or a word that may have been meant at its beginning.
 * `paths` are those of the rows.
 */
export function hintBeneath(url: string, prefix: string, paths: readonly string[]): string {
  const path = url.split('?', 1)[0]!;
  if (!path.startsWith(`${prefix}/`)) return '';
  const asked = segmentsOf(path.slice(prefix.length));
  const [first] = asked;
  if (first === undefined) return '';
  const rows = paths.map(segmentsOf);
  const below = new Set<string>();
  for (const row of rows)
    if (row.length > asked.length && asked.every((each, at) => each === row[at] || isParameter(row[at]!)))
      below.add(`/${row[asked.length]}`);
  if (below.size > 0) return ` Below it there is ${[...below].sort().join(', ')}.`;
  const beginnings = new Set(rows.flatMap(([beginning]) => beginning ?? []));
  return beginnings.has(first) ? '' : suggestion(first, beginnings);
}
