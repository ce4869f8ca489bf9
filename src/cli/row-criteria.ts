/** Which rows of a table are meant. */
export interface RowCriterion {
  readonly column: string;
  matches(row: Readonly<Record<string, string>>): boolean;
}

type Comparison = (value: string, wanted: string) => boolean;

/** The sign of the difference: of numbers as numbers, of everything else as texts. */
function compare(value: string, wanted: string): number {
  const [a, b] = [Number(value), Number(wanted)];
  if (value.trim() !== '' && wanted.trim() !== '' && !Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  return value < wanted ? -1 : value === wanted ? 0 : 1;
}

/** As SQL's LIKE: % stands for any text, _ for one character; capitals do not matter. */
function isLike(value: string, pattern: string): boolean {
  const source = pattern
    .replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('%', '.*')
    .replaceAll('_', '.');
  return new RegExp(`^${source}$`, 'is').test(value);
}

const comparisons: readonly (readonly [operator: string, holds: Comparison])[] = [
  ['==', (value, wanted) => value === wanted],
  ['!=', (value, wanted) => value !== wanted],
  ['=~', isLike],
  ['!~', (value, wanted) => !isLike(value, wanted)],
  ['>=', (value, wanted) => compare(value, wanted) >= 0],
  ['<=', (value, wanted) => compare(value, wanted) <= 0],
  ['>', (value, wanted) => compare(value, wanted) > 0],
  ['<', (value, wanted) => compare(value, wanted) < 0],
];

/** `COLUMN==VALUE` and the like; undefined if it is nothing of that kind. A column without a value fulfils nothing. */
export function rowCriterion(text: string): RowCriterion | undefined {
  const [, column, operator, wanted = ''] = /^([^=!~<>]+)(==|!=|=~|!~|>=|<=|>|<)(.*)$/s.exec(text) ?? [];
  const holds = comparisons.find(([each]) => each === operator)?.[1];
  if (column === undefined || !holds) return undefined;
  return {
    column,
    matches(row) {
      const value = row[column];
      return value !== undefined && holds(value, wanted);
    },
  };
}
