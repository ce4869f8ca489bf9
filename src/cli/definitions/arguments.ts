import type { Invocation } from '../invocation.ts';
import { errorLine, referenceVersion } from '../lines.ts';
import { type OptionTable, parseOptions, type ParsedOptions } from '../options.ts';

/** What all definition commands take. */
export const commonOptions: OptionTable = {
  'help|h|?': 'flag',
  'version|v': 'flag',
  'verbose|V': 'flag',
  'type|t': 'value',
  o: 'value',
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
  readonly options: ParsedOptions;
  /** The types that were named; none means node. */
  readonly types: readonly string[];
  /** A range or a list of names. */
  readonly names: string | undefined;
  /** attr=value, the last of each name. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** Takes a definition command's arguments apart. */
export function readCall(argv: readonly string[], table: OptionTable, invalid = 'Invalid option..'): DefinitionCall {
  const options = parseOptions(argv, { ...commonOptions, ...table });
  if (options.unknown.length > 0 || options.lacking.length > 0) throw new Wrong(invalid, true);
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

/** Help and version, which every one of these commands shows alike; undefined if none was asked for. */
export function told(
  { options }: DefinitionCall,
  { name, stdout }: Pick<Invocation, 'name' | 'stdout'>,
  usage: string,
): number | undefined {
  if (options.flag('help')) stdout.line(usage);
  else if (options.flag('version')) stdout.line(`${name} - Version ${referenceVersion}`);
  else return undefined;
  return 0;
}

/** Says what was wrong with a call. */
export function tellWrong(
  error: unknown,
  { stdout, stderr }: Invocation,
  usage: string,
  server: string | undefined,
): number {
  if (!(error instanceof Wrong)) throw error;
  if (error.usage) stdout.line(usage);
  stderr.line(errorLine(error.message, server));
  return 1;
}
