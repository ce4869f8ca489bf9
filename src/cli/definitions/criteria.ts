import { Wrong } from './arguments.ts';

/** A condition of the option -w on an attribute. */
export interface Criterion {
  readonly attribute: string;
  readonly operator: '==' | '!=' | '=~' | '!~';
  readonly value: string;
}

export function readCriteria(texts: readonly string[]): Criterion[] {
  return texts.map((text) => {
    const parts = /^\s*([^\s=!~]+?)\s*(==|!=|=~|!~)\s*(.*)$/s.exec(text);
    if (!parts) throw new Wrong(`Incorrect selection string '${text}' specified with the '-w' option.`);
    return { attribute: parts[1]!, operator: parts[2] as Criterion['operator'], value: parts[3]! };
  });
}

/** The condition that all of these make; what has no value for an attribute meets none on it. */
export async function criteriaTest(
  criteria: readonly Criterion[],
): Promise<(attributes: Readonly<Record<string, string>>) => boolean> {
  const tests: ((attributes: Readonly<Record<string, string>>) => boolean)[] = [];
  for (const { attribute, operator, value } of criteria) {
    const holds = await valueTest(operator, value);
    tests.push((attributes) => Boolean(attributes[attribute]) && holds(attributes[attribute]!));
  }
  return (attributes) => tests.every((test) => test(attributes));
}

async function valueTest(operator: Criterion['operator'], value: string): Promise<(text: string) => boolean> {
  if (operator === '==') return (text) => text === value;
  if (operator === '!=') return (text) => text !== value;
  const { compilePattern } = await import('../../core/patterns.ts');
  const pattern = compilePattern(value.replace(/^\/(.*)\/$/s, '$1'), `-w ${operator}${value}`);
  return operator === '=~' ? (text) => pattern.test(text) : (text) => !pattern.test(text);
}
