import type { Call, Invocation } from '../command.ts';
import { errorLine } from '../lines.ts';
import { type OptionTable, valued } from '../options.ts';

/** What all definition commands take. */
export const definitionOptions: OptionTable = {
  'type|t': valued('TYPE', 'the type of the objects, node if absent; lsdef -a shows which there are'),
  o: valued('NAMES', 'a node range; for other types names joined by commas'),
};

/** A call that cannot be carried out. With `usage` the help text is shown on standard output too. */
export class Wrong extends Error {
  readonly usage: boolean;

  constructor(text: string, usage = false) {
    super(text);
    this.usage = usage;
  }
}

export interface DefinitionCall {
  readonly options: Call;
  /** The types that were named; none means node. */
  readonly types: readonly string[];
  /** A range or a list of names. */
  readonly names: string | undefined;
  /** attr=value, the last of each name. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** Takes the operands of a definition command apart. */
export function readCall(options: Call): DefinitionCall {
  const attributes: Record<string, string> = Object.create(null) as Record<string, string>;
  let names = options.value('o');
  let operands = 0;
  for (const operand of options.operands) {
    const assignment = isRange(operand) ? undefined : /^\s*(\S+?)\s*=(.*)$/s.exec(operand);
    if (assignment) attributes[assignment[1]!] = assignment[2]!;
    else {
      operands += 1;
      if (operands > 1) throw new Wrong('noderange can not contain spaces.', true);
      names ??= operand;
    }
  }
  const types = (options.value('type') ?? '').split(',').filter((type) => type !== '');
  return { options, types, names, attributes };
}

/** A selection such as nodehm.mgt==ipmi, or a regular expression, has an equals sign too. */
const isRange = (operand: string): boolean => !operand.includes('=') || /^([/~@^]|\w+\.\w+([=!]=|[=!]~))/.test(operand);

/** Between errors that stand on lines of their own. */
export const separator = '\u0000';

/** Runs a definition command; what is wrong with its call is said with the name of the server, so one must have answered. */
export async function withWrongCalls(
  invocation: Invocation,
  usage: string,
  run: () => Promise<number>,
): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    const { client, stdout, stderr } = invocation;
    const server = await client.serverName();
    if (error.usage) stdout.line(usage);
    for (const line of error.message.split(separator)) stderr.line(errorLine(line, server));
    return 1;
  }
}

/** The refusal of options that no definition command has. */
export const refuseOptions =
  (sentence: string) =>
  (invocation: Invocation, _: unknown, usage: string): Promise<number> =>
    withWrongCalls(invocation, usage, () => Promise.reject(new Wrong(sentence, true)));

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
