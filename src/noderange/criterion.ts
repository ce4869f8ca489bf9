import { cachedByText } from '../core/cache.ts';
import { compilePattern, type PatternAllowance } from '../core/patterns.ts';
import { columnAt, locate, malformed, type Run } from './run.ts';

export interface Criterion {
  table: string;
  column: string;
  op: '==' | '!=' | '=~' | '!~';
  value: string;
  /** As written, and its 1-based column in the whole range text. */
  text: string;
  at: number;
}

const shortNames: Readonly<Record<string, readonly [table: string, column: string]>> = {
  groups: ['nodelist', 'groups'],
  tags: ['nodelist', 'groups'],
  mgt: ['nodehm', 'mgt'],
};

/** Reads `table.column op value` or `short op value`. */
export function parseCriterion(run: Run, text: string, at: number): Criterion {
  const [, key = '', sign = '', right = ''] = /^([^=~!]+)(==|=~|!=|!~|=)(.*)$/s.exec(text) ?? [];
  if (sign === '') {
    throw malformed(run, text, at, 'is not a criterion; write table.column, then one of == != =~ !~, then a value');
  }
  const op = sign === '=' ? '==' : (sign as Criterion['op']);
  const dot = key.indexOf('.');
  const short = Object.hasOwn(shortNames, key) ? shortNames[key] : undefined;
  const [table, column] = short ?? [key.slice(0, Math.max(dot, 0)), key.slice(dot + 1)];
  if (table === '' || column === '') {
    const known = Object.keys(shortNames).join(', ');
    throw malformed(run, text, at, `names the unknown attribute "${key}"; write table.column or one of ${known}`);
  }
  const value = op.endsWith('~') ? right.replace(/^\//, '').replace(/\/$/, '') : right;
  return { table, column, op, value, text, at: columnAt(run, at) };
}

const cachedValues = 1_000;

/** The test a criterion makes of an attribute's value; a node without the attribute has the value ''. */
export function criterionTest(criterion: Criterion, patterns?: PatternAllowance): (value: string) => boolean {
  const wanted = criterion.value;
  if (criterion.op === '==') return (value) => value === wanted;
  if (criterion.op === '!=') return (value) => value !== wanted;
  const pattern = compilePattern(wanted, `"${criterion.text}" at column ${criterion.at} of the noderange`, patterns);
  // Nodes of a group have the same values, and long ones are dear to match.
  const matches = cachedByText(cachedValues, (value) => pattern.test(value));
  return criterion.op === '=~' ? matches : (value) => !matches(value);
}

/** The test a `/re` piece makes of a node's name; the expression is anchored as a whole. */
export function nameTest(run: Run, text: string, at: number): (name: string) => boolean {
  const pattern = compilePattern(`^(?:${text.slice(1)})$`, locate(run, text, at), run.effort.patterns);
  return (name) => pattern.test(name);
}
