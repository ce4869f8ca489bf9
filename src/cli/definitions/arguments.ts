import type { Call, Invocation } from '../command.ts';
import { errorLine, ignoredLine } from '../lines.ts';
import { type OptionTable, valued } from '../options.ts';

/** What all definition commands take. */
export const definitionOptions: OptionTable = {
  'type|t': valued('TYPE', 'the type of the objects, node if absent; lsdef -a shows which there are'),
  o: valued('NAMES', 'a node range; for other types names joined by commas'),
};

/** A call that cannot be carried out. With `usage` the help text is shown on standard output too. */
export class Wrong extends Error {
  readonly usage: boolean;
  /** What xCAT's words do not say, below the help. */
  readonly named: string | undefined;

  constructor(text: string, usage = false, named?: string) {
    super(text);
    this.usage = usage;
    this.named = named;
  }
}

export interface DefinitionCall {
  readonly options: Call;
  /** The types that were named; none means node. */
  readonly types: readonly string[];
  /** A range or a list of names. */
  readonly names: string | undefined;
  /** attr=value, the last of each name, as in xCAT. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** Takes the operands of a definition command apart. What is given twice is said. */
export function readCall(options: Call, { stderr }: Pick<Invocation, 'stderr'>): DefinitionCall {
  const attributes: Record<string, string> = Object.create(null) as Record<string, string>;
  let names = options.value('o') || undefined;
  // What -o names and an operand names would be two ranges, of which one would be dropped.
  let operands = names === undefined ? 0 : 1;
  for (const operand of options.operands.filter((word) => word !== '')) {
    const [, attribute, value = ''] = isRange(operand) ? [] : (/^\s*(\S+?)\s*=(.*)$/s.exec(operand) ?? []);
    if (attribute !== undefined) {
      const before = attributes[attribute];
      if (before !== undefined && before !== value)
        stderr.line(
          ignoredLine(
            `The first value of ${attribute}`,
            'it was given twice, and the last value counts; give it once.',
          ),
        );
      attributes[attribute] = value;
    } else {
      operands += 1;
      if (operands > 1)
        throw new Wrong(
          'noderange can not contain spaces.',
          true,
          `"${operand}" is one word too many; nodes of a noderange are joined by commas.`,
        );
      names ??= operand;
    }
  }
  // An unset variable of a script leaves an empty word; what it was to name is not known.
  if (options.operands.includes('') && names !== undefined)
    throw new Wrong('One of the words is empty. Give a name or attr=value in its place, or leave it out.');
  if (options.value('o') === '' && names !== undefined)
    throw new Wrong(`-o is empty. Leave it out to mean "${names}", or give the names there.`);
  const types = (options.value('type') ?? '').split(',').filter((type) => type !== '');
  // An unset variable must not turn another type's names into nodes.
  if (options.has('type') && types.length === 0)
    throw new Wrong('-t is empty. Name a type, such as -t node, or leave -t out for nodes.');
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
    if (error.usage) stdout.line([usage, ...(error.named === undefined ? [] : [error.named])].join('\n\n'));
    // The sentence comes last: above the help nobody would see it.
    await stdout.flush();
    for (const line of error.message.split(separator)) stderr.line(errorLine(line, server));
    return 1;
  }
}

/** The refusal of options that no definition command has. */
export const refuseOptions =
  (sentence: string) =>
  (invocation: Invocation, _: unknown, text: string): Promise<number> =>
    withWrongCalls(invocation, text, () => Promise.reject(new Wrong(sentence, true)));

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
    const holds = await valueTest({ attribute, operator, value });
    tests.push((attributes) => Boolean(attributes[attribute]) && holds(attributes[attribute]!));
  }
  return (attributes) => tests.every((test) => test(attributes));
}

async function valueTest({ attribute, operator, value }: Criterion): Promise<(text: string) => boolean> {
  if (operator === '==') return (text) => text === value;
  if (operator === '!=') return (text) => text !== value;
  const { compilePattern } = await import('../../core/patterns.ts');
  const pattern = compilePattern(value.replace(/^\/(.*)\/$/s, '$1'), `-w ${attribute}${operator}${value}`);
  return operator === '=~' ? (text) => pattern.test(text) : (text) => !pattern.test(text);
}
