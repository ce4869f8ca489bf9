import type { Client } from './client.ts';
import { type Common, commonHelp, commonOf, type CommonOptions, commonTable } from './common-options.ts';
import { UsageError } from './errors.ts';
import type { Input } from './input.ts';
import { referenceVersion } from './lines.ts';
import {
  optionHelp,
  type OptionRules,
  type OptionTable,
  type ParsedOptions,
  parseOptions,
  writtenName,
  writtenNames,
} from './options.ts';
import type { Output } from './output.ts';

/** What a command can know of the terminal it was called from. */
export interface Terminal {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  /** Of standard output, or what COLUMNS says; 80 where nobody knows. */
  readonly columns: number;
  /** Standard output is a terminal, and NO_COLOR is not set. */
  readonly colour: boolean;
}

/** One call of a command: all it may read, and where it may write. */
export interface Invocation {
  /** The command's name. */
  readonly name: string;
  /** One of muster's own commands: what it says is said in muster's words, not in xCAT's. */
  readonly isMuster: boolean;
  /** What follows the name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly terminal: Terminal;
  /** Connects when it is first used. */
  readonly client: Client;
  /** Aborted by Ctrl-C. Whoever listens decides what is said; a second Ctrl-C ends the process. */
  readonly signal: AbortSignal;
}

/** A command of the command line, as `commands/index.ts` loads it. */
export interface CliCommand {
  /** The help text, without a newline at its end; its lines about options are made from the tables. */
  readonly usage: string;
  readonly options: OptionTable;
  /** All that it parses besides the common options: help and version too. */
  readonly parsed: OptionTable;
  /** The common options that it understands. */
  readonly common: readonly Common[];
  /** How many operands it takes at most. */
  readonly operands: number;
  /** Answers the exit status. What it throws is reported by `errors.ts`. */
  run(invocation: Invocation): Promise<number>;
}

/** What is known of a command before its file is loaded. */
export interface CommandEntry {
  readonly summary: string;
  /** muster's own: errors, exit codes and prefixes are not those of xCAT's commands. */
  readonly isMuster?: true;
  load(): Promise<CliCommand>;
}

/** The options and operands of a call. */
export interface Call extends ParsedOptions {
  readonly common: CommonOptions;
}

type Run = (invocation: Invocation, call: Call) => Promise<number> | number;

/** What a command is made of. What stands in neither table is refused before anything is done. */
interface Declaration {
  /** How it is called, and what it does. */
  readonly usage: string;
  /** Below the tables of options. */
  readonly notes?: string;
  readonly options?: OptionTable;
  /** What its operands name, where an empty one, as an unset variable leaves it, would mean something else. */
  readonly names?: string;
  readonly rules?: OptionRules;
  readonly common?: readonly Common[];
  /** It shows its changes itself where `--dry-run` asks for that. */
  readonly triesItself?: boolean;
  readonly run: Run;
}

interface XcatDeclaration extends Declaration {
  /** How many operands there may be; what is too few is the command's own affair. */
  readonly operands?: number;
  /** The exit status of a call without any word, which shows the help. */
  readonly bare?: number;
  /** What the option prints, if not the version alone; false where there is no such option. */
  readonly version?: string | false;
  /** Help and version are asked for in its own way. */
  readonly asksItself?: true;
  /** Reports a call that is wrong where that is not done by the help alone, which has a sentence about each wrong word at its end. */
  readonly refuse?: Refuse;
}

export type Refuse = (invocation: Invocation, options: ParsedOptions, help: string) => unknown;

const help: OptionTable = { 'help|h|?': 'flag' };
const versionToo: OptionTable = { 'version|v': 'flag' };

/** A command of xCAT's: the help answers a wrong call, as there, and the status is 1. */
export function xcatCommand(declared: XcatDeclaration): CliCommand {
  const usage = helpOf(declared);
  const { operands: most = Number.POSITIVE_INFINITY, bare, asksItself } = declared;
  const parsed = {
    ...(asksItself ? {} : help),
    ...(asksItself || declared.version === false ? {} : versionToo),
    ...declared.options,
  };
  const table = { ...parsed, ...commonTable };
  const refuse = async (invocation: Invocation, options: ParsedOptions): Promise<number> => {
    const { wrongWords } = await import('./wrong-words.ts');
    const text = `${usage}\n\n${wrongWords(invocation.name, options, table, most).join('\n')}`;
    if (declared.refuse) await declared.refuse(invocation, options, text);
    else say(invocation, text);
    return 1;
  };
  return {
    ...partsOf(declared, usage),
    operands: most,
    parsed,
    async run(invocation) {
      const options = parseOptions(invocation.argv, table, declared.rules);
      if (!asksItself && options.flag('help')) return say(invocation, usage);
      if (!asksItself && options.flag('version'))
        return say(invocation, declared.version || `Version ${referenceVersion}`);
      if (options.unknown.length + options.lacking.length > 0) return refuse(invocation, options);
      const common = commonOf(invocation.name, options, declared);
      checkOptions(options, declared);
      if (bare !== undefined && invocation.argv.length === 0) return say(invocation, usage, bare);
      if (options.operands.length > most) return refuse(invocation, options);
      return carryOut(invocation, { ...options, common }, declared);
    },
  };
}

interface MusterDeclaration extends Declaration {
  /** How many operands there must be at least and at most, and what to say otherwise. */
  readonly operands?: readonly [least: number, most: number, sentence: string];
}

/** A command that xCAT does not have: what is wrong with a call is said in a sentence. */
export function musterCommand(declared: MusterDeclaration): CliCommand {
  const usage = helpOf(declared);
  const [least, most, sentence] = declared.operands ?? [0, 0];
  const parsed = { ...declared.options, 'help|h': 'flag' } as const;
  const table = { ...parsed, ...commonTable };
  return {
    ...partsOf(declared, usage),
    operands: most,
    parsed,
    async run(invocation) {
      const options = parseOptions(invocation.argv, table, declared.rules);
      if (options.flag('help')) return say(invocation, usage);
      const { unknown, lacking, operands } = options;
      if (unknown.length + lacking.length > 0 || operands.length > most) {
        const { wrongWords } = await import('./wrong-words.ts');
        const wrong = wrongWords(`muster ${invocation.name}`, options, table, most);
        throw new UsageError(
          [...wrong, ...(sentence !== undefined && operands.length > most ? [sentence] : [])].join(' '),
        );
      }
      const common = commonOf(invocation.name, options, declared);
      checkOptions(options, declared);
      if (operands.length < least) throw new UsageError(sentence);
      return carryOut(invocation, { ...options, common }, declared);
    },
  };
}

const helpOf = ({ usage, options = {}, common = [], notes }: Declaration): string =>
  [usage, optionHelp(options), commonHelp(common), notes ?? ''].filter(Boolean).join('\n\n');

const partsOf = ({ options = {}, common = [] }: Declaration, usage: string) => ({ usage, options, common });

/** Refuses what the command knows and cannot do, empty words that name nothing, and an option with two values, of which one would be dropped. */
function checkOptions(
  { doubled, has, values, operands }: ParsedOptions,
  { options = {}, names: named }: Declaration,
): void {
  for (const [names, row] of Object.entries(options)) {
    const [name = ''] = names.split('|');
    if (typeof row === 'string' || !has(name)) continue;
    const written = writtenNames(names).join(', ');
    if (row.refused !== undefined) throw new UsageError(`${written} is not supported here: ${row.refused}`);
    if (row.filled && values(name).some((each) => each.trim() === ''))
      throw new UsageError(`The value of ${written} is empty: give ${row.value}. Nothing was done.`);
  }
  if (named !== undefined && operands.includes(''))
    throw new UsageError(`An empty word ("") names no ${named}: give the ${named} that is meant. Nothing was done.`);
  if (doubled.length > 0) throw new UsageError(`${writtenName(doubled[0]!)} was given twice; give it once.`);
}

/** Lets `--curl` and `--dry-run` go where they always go: to the client. */
async function carryOut(invocation: Invocation, call: Call, { triesItself, run }: Declaration): Promise<number> {
  if (call.common.curl) {
    const { printRequests } = await import('./muster/curl.ts');
    return printRequests(invocation, call.common, (silent) => run(silent, call));
  }
  if (call.common.dryRun && !triesItself) {
    const { tryOnly } = await import('./muster/row-diff.ts');
    return tryOnly(invocation, () => run(invocation, call));
  }
  return run(invocation, call);
}

/** As xCAT's commands refuse options that they read themselves: named on standard error, above the help. */
export const refuseByName: Refuse = (invocation, { unknown }, text) => {
  for (const name of unknown) invocation.stderr.line(`Unknown option: ${name}`);
  say(invocation, text);
};

/** Prints it and answers the exit status. */
export function say({ stdout }: Pick<Invocation, 'stdout'>, text: string, code = 0): number {
  stdout.line(text);
  return code;
}

export function oneOf<T extends string>(name: string, value: string | undefined, allowed: readonly T[]): T | undefined {
  if (value !== undefined && !(allowed as readonly string[]).includes(value))
    throw new UsageError(`${name} is one of ${allowed.join(', ')}, not "${value}".`);
  return value as T | undefined;
}
