import { cachedByText } from '../../core/cache.ts';
import { compileForm, formProblem, isPattern } from './form.ts';
import { splitNics } from './nics.ts';

export { isPattern } from './form.ts';

/** A group's value is computed for every member. */
const cachedForms = 2000;

const formOf = cachedByText(cachedForms, compileForm);
const problemOf = cachedByText(cachedForms, (stored) => formProblem(stored) ?? '');
const nicPartsOf = cachedByText(cachedForms, splitNics);

/** What is wrong with a pattern, if anything. */
export const patternProblem = (pattern: string): string | undefined => problemOf(pattern) || undefined;

/** The patterns in a stored value: itself, or those of its nics. */
export function patternsIn(table: string, stored: string): readonly string[] {
  if (isPattern(stored)) return [stored];
  if (table !== 'nics' || !stored.includes('!|')) return [];
  return nicPartsOf(stored).flatMap(({ form }) => form ?? []);
}

/** The effective value for the node; undefined when the result is empty (unset). Plain text comes back unchanged. */
export function substitute(stored: string, node: string): string | undefined {
  return (isPattern(stored) ? formOf(stored)(node) : stored) || undefined;
}

/** The same for a nic column: the whole column or the values of its `nic!value` parts may be patterns. A nic whose value comes out empty is left out. */
export function substituteNics(stored: string, node: string): string | undefined {
  if (isPattern(stored) || !stored.includes('!|')) return substitute(stored, node);
  const values: string[] = [];
  for (const { text, form } of nicPartsOf(stored)) {
    const value = form === undefined ? '' : substitute(form, node);
    if (value !== undefined) values.push(text + value);
  }
  return values.join(',') || undefined;
}
