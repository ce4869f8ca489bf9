import { Refused } from './client-errors.ts';
import type { Invocation } from './invocation.ts';
import { errorLine } from './lines.ts';

/** Names of columns that need no table. */
const shortNames: Readonly<Record<string, string>> = {
  groups: 'nodelist.groups',
  tags: 'nodelist.groups',
  mgt: 'nodehm.mgt',
};

/** The column that a word stands for; a word that is none stays what it is, and the server refuses it. */
export const columnNamed = (word: string): string => (Object.hasOwn(shortNames, word) ? shortNames[word]! : word);

export type Operator = '=' | ',=' | '^=' | '==' | '!=' | '=~' | '!~';

export interface ColumnWord {
  /** As it was written. */
  readonly written: string;
  readonly column: string;
  readonly operator: Operator;
  readonly value: string;
}

const comparison = /^(.+?)(==|!=|=~|!~)(.*)$/s;
const assignment = /^([^=]+?)([,^]?=)(.*)$/s;

/** `COLUMN==VALUE` and the like. */
export function criterionOf(word: string): ColumnWord | undefined {
  const found = comparison.exec(word);
  if (!found || found[1]!.includes('=')) return undefined;
  return { written: found[1]!, column: columnNamed(found[1]!), operator: found[2] as Operator, value: found[3]! };
}

/** A criterion, or `COLUMN=VALUE`, `COLUMN,=ITEMS`, `COLUMN^=ITEMS`. */
export function columnWordOf(word: string): ColumnWord | undefined {
  const criterion = criterionOf(word);
  if (criterion) return criterion;
  const found = assignment.exec(word);
  if (!found) return undefined;
  const [, written = '', operator, value = ''] = found;
  const column = columnNamed(written);
  // A name without a table is shown with the dot that would stand behind one.
  return { written, column: column.includes('.') ? column : `${column}.`, operator: operator as Operator, value };
}

export function matches({ operator, value }: ColumnWord, given: string): boolean {
  if (operator === '==') return given === value;
  if (operator === '!=') return given !== value;
  const pattern = new RegExp(/^\/.*\/$/s.test(value) ? value.slice(1, -1) : value);
  return pattern.test(given) === (operator === '=~');
}

/** Says which columns there are not, where that is why the server refused; otherwise the error is somebody else's. */
export function tellUnknownColumn(error: unknown, { stderr, client }: Invocation): number {
  if (!(error instanceof Refused) || error.kind !== 'invalid' || error.missing.length === 0) throw error;
  stderr.line(errorLine(`${error.missing[0]!} not a valid table.column description`, client.server));
  return 1;
}

/** Column words of a command that writes, sorted by what they do. */
export interface ColumnWords {
  readonly set: Readonly<Record<string, string>>;
  readonly add: Readonly<Record<string, string>>;
  readonly remove: Readonly<Record<string, string>>;
  readonly criteria: readonly ColumnWord[];
  readonly malformed: readonly string[];
}

export function sortedWords(words: readonly string[]): ColumnWords {
  const [set, add, remove]: Record<string, string>[] = [{}, {}, {}];
  const criteria: ColumnWord[] = [];
  const malformed: string[] = [];
  for (const word of words) {
    const found = columnWordOf(word);
    if (!found) malformed.push(word);
    else if (found.operator === '=') set![found.column] = found.value;
    else if (found.operator === ',=') add![found.column] = found.value;
    else if (found.operator === '^=') remove![found.column] = found.value;
    else criteria.push(found);
  }
  return { set: set!, add: add!, remove: remove!, criteria, malformed };
}

/** The range without nodes that the criteria leave out. */
export const rangeWithin = (range: string, criteria: readonly ColumnWord[]): string =>
  [range, ...criteria.map(({ column, operator, value }) => `${column}${operator}${value}`)].join('@');
