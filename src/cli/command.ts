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
  /** The common options that it understands. */
  readonly common: readonly Common[];
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
  /** What stands before the version, if not `Version`; false where it is no option. */
  readonly version?: string | false;
  /** Help and version are asked for in its own way. */
  readonly asksItself?: true;
  /** Reports a call that is wrong and answers the exit status, where that is not the usual 1 below the help. */
  readonly refuse?: (invocation: Invocation, options: ParsedOptions, usage: string) => Promise<number> | number;
}

const help: OptionTable = { 'help|h|?': 'flag' };
const versionToo: OptionTable = { 'version|v': 'flag' };

/** A command of xCAT's: what is wrong with a call is said as there, which is rarely more than the help and 1. */
export function xcatCommand(declared: XcatDeclaration): CliCommand {
  const usage = helpOf(declared);
  const { operands: most = Number.POSITIVE_INFINITY, bare, asksItself } = declared;
  const refuse = declared.refuse ?? ((invocation) => say(invocation, usage, 1));
  const table = {
    ...(asksItself ? {} : help),
    ...(asksItself || declared.version === false ? {} : versionToo),
    ...declared.options,
    ...commonTable,
  };
  return {
    ...partsOf(declared, usage),
    async run(invocation) {
      const options = parseOptions(invocation.argv, table, declared.rules);
      if (!asksItself && options.flag('help')) return say(invocation, usage);
      if (!asksItself && options.flag('version'))
        return say(invocation, `${declared.version || 'Version'} ${referenceVersion}`);
      if (options.unknown.length + options.lacking.length > 0) return refuse(invocation, options, usage);
      const common = commonOf(invocation.name, options, declared.common);
      if (bare !== undefined && invocation.argv.length === 0) return say(invocation, usage, bare);
      if (options.operands.length > most) return refuse(invocation, options, usage);
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
  const [least, most, sentence] = declared.operands ?? [0, 0, 'It takes no operands.'];
  return {
    ...partsOf(declared, usage),
    async run(invocation) {
      const table = { ...declared.options, ...commonTable, 'help|h': 'flag' } as const;
      const options = parseOptions(invocation.argv, table, declared.rules);
      if (options.flag('help')) return say(invocation, usage);
      const [stranger] = options.unknown;
      if (stranger !== undefined) throw new UsageError(`There is no option "${stranger}".`);
      const [lacking] = options.lacking;
      if (lacking !== undefined) throw new UsageError(`The option "${lacking}" needs a value.`);
      const common = commonOf(invocation.name, options, declared.common);
      if (options.operands.length < least || options.operands.length > most) throw new UsageError(sentence);
      return carryOut(invocation, { ...options, common }, declared);
    },
  };
}

const helpOf = ({ usage, options = {}, common = [], notes }: Declaration): string =>
  [usage, optionHelp(options), commonHelp(common), notes ?? ''].filter(Boolean).join('\n\n');

const partsOf = ({ options = {}, common = [] }: Declaration, usage: string) => ({ usage, options, common });

/** Refuses what the command knows and cannot do, and lets `--curl` and `--dry-run` go where they always go: to the client. */
async function carryOut(
  invocation: Invocation,
  call: Call,
  { options = {}, triesItself, run }: Declaration,
): Promise<number> {
  for (const [names, row] of Object.entries(options)) {
    const [name = ''] = names.split('|');
    if (typeof row !== 'string' && row.refused !== undefined && call.has(name))
      throw new UsageError(`${writtenNames(names).join(', ')} is not supported here: ${row.refused}`);
  }
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
