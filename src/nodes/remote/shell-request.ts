import { normalize } from 'node:path';
import { type Static, Type } from 'typebox';
import { Fault } from '../../core/errors.ts';
import type { Loose } from '../../core/settings.ts';
import { checkText, commandLine, quoteWord } from '../../core/shell-words.ts';
import { hidden, shownName } from '../../objects/secret-names.ts';

/** What an option takes and means; `name` is how it is kept. */
export interface Option {
  readonly name: string;
  readonly takesValue?: boolean;
  /** Why it is refused. */
  readonly refused?: string;
}

interface ParsedOptions {
  /** The values by name; of flags the empty text. */
  readonly options: ReadonlyMap<string, string>;
  /** What is left behind the options. */
  readonly words: readonly string[];
}

/** Reads options as the reference system's commands do: bundled single letters, values attached or apart, long names. */
export function parseOptions(
  command: string,
  known: Readonly<Record<string, Option>>,
  words: readonly string[],
): ParsedOptions {
  const options = new Map<string, string>();
  const find = (spelled: string): Option => {
    const option = Object.hasOwn(known, spelled) ? known[spelled] : undefined;
    const shown = spelled.length === 1 ? `-${spelled}` : `--${spelled}`;
    if (!option) throw new Fault('invalid', `"${shown}" is not an option of ${command}.`);
    if (option.refused)
      throw new Fault('invalid', `The option "${shown}" of ${command} is not offered: ${option.refused}.`);
    return option;
  };
  const valueOf = (spelled: string, value: string | undefined): string => {
    if (value === undefined) throw new Fault('invalid', `The option "-${spelled}" of ${command} lacks its value.`);
    return value;
  };
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at]!;
    if (word === '--') return { options, words: words.slice(at + 1) };
    if (!word.startsWith('-') || word === '-') break;
    if (word.startsWith('--')) {
      const [, spelled = '', value] = /^--([^=]*)(?:=([^]*))?$/.exec(word)!;
      const { name, takesValue } = find(spelled);
      if (!takesValue && value !== undefined) throw new Fault('invalid', `The option "--${spelled}" takes no value.`);
      options.set(name, takesValue ? valueOf(spelled, value ?? words[++at]) : '');
      continue;
    }
    for (let letter = 1; letter < word.length; letter++) {
      const spelled = word[letter]!;
      const { name, takesValue } = find(spelled);
      const attached = word.slice(letter + 1);
      options.set(name, takesValue ? valueOf(spelled, attached === '' ? words[++at] : attached) : '');
      if (takesValue) break;
    }
  }
  return { options, words: words.slice(at) };
}

/** The words of options given as text, such as `-t 10`, or as a list of words, in which an option may stand with its value. */
export function optionWords(raw: string | readonly string[]): string[] {
  if (typeof raw === 'string') return raw.split(/\s+/).filter((word) => word !== '');
  return raw.flatMap((word) => {
    const together = /^(--?[A-Za-z-]+)\s+(\S[^]*)$/.exec(word);
    return together ? [together[1]!, together[2]!.trimEnd()] : [word];
  });
}

export interface CopyBody {
  readonly src: string | readonly string[];
  readonly target: string;
}

interface CopyRequest {
  /** Paths here. */
  readonly sources: readonly string[];
  /** A path on the nodes. */
  readonly target: string;
}

/** Rules are asked about the paths, so nothing in them leads back up. Whatever else a name holds is left to those who made it. */
export function readCopyRequest({ src, target }: CopyBody): CopyRequest {
  checkText(target, `the target ${JSON.stringify(target)}`);
  return { sources: (typeof src === 'string' ? [src] : src).map(normalize), target: normalize(inHome(target)) };
}

/** Where no shell reads it, `~` would be a directory of that name; a relative path begins in the home anyway. */
const inHome = (target: string): string => (/^~(\/|$)/.test(target) ? `.${target.slice(1)}` : target);

/** A command for the shell, or its words, which arrive as they are. */
type ShellCommand = string | readonly string[];

export interface ShellBody {
  readonly command?: string | readonly ShellCommand[];
  readonly raw?: string | readonly string[];
  readonly ENV?: Readonly<Record<string, string | number | boolean>>;
}

/** What is asked of the nodes' shells. */
export const shellSchema = Type.Object({
  command: Type.String({ description: 'text for the shell on the node' }),
  environment: Type.Record(Type.String(), Type.String()),
  user: Type.Optional(Type.String()),
  fanOut: Type.Optional(Type.Number()),
  seconds: Type.Optional(Type.Number({ description: '0: as long as it takes' })),
  script: Type.Optional(
    Type.Object(
      { path: Type.String(), rest: Type.String() },
      { description: 'a script here that is sent along, and the text behind it' },
    ),
  ),
  environmentFile: Type.Optional(Type.String({ description: 'a file here whose text goes before the command' })),
  tellsExit: Type.Boolean(),
  silent: Type.Boolean(),
  sudo: Type.Boolean(),
  password: Type.Optional(Type.String({ description: 'hands out the key, with this password' })),
  shownOptions: Type.Array(Type.String(), { description: 'the options and variables, without the user' }),
});

export type ShellRequest = Loose<Static<typeof shellSchema>>;
type Script = NonNullable<ShellRequest['script']>;

const elsewhere = 'it is about files of the reference system';
const withoutEffect: Option = { name: 'ignored' };

const known: Readonly<Record<string, Option>> = aliased({
  'e execute': { name: 'script' },
  'f fanout': { name: 'fanOut', takesValue: true },
  'l user': { name: 'user', takesValue: true },
  't timeout': { name: 'seconds', takesValue: true },
  'z exit-status': { name: 'exit' },
  'E environment': { name: 'environment', takesValue: true },
  'K keysetup': { name: 'keys' },
  'Q silent': { name: 'silent' },
  sudo: { name: 'sudo' },
  // Results come as they are there, connections are checked, and there is neither a client's environment nor a trace.
  's stream': withoutEffect,
  'm monitor': withoutEffect,
  'v verify': withoutEffect,
  noverify: withoutEffect,
  'B bypass': withoutEffect,
  'L no-locale': withoutEffect,
  'T trace': withoutEffect,
  X: withoutEffect,
  'c cleanup': { name: 'c', refused: elsewhere },
  'q show-config': { name: 'q', refused: elsewhere },
  'i rootimg': { name: 'i', refused: 'commands run on nodes only' },
  'r node-rsh': { name: 'r', refused: 'commands go by SSH' },
  'S syntax': { name: 'S', refused: "commands are for the user's shell" },
  devicetype: { name: 'devicetype', refused: 'only nodes with a POSIX shell are served' },
  nodestatus: { name: 'nodestatus', refused: 'ask nodestat' },
});

function aliased(options: Readonly<Record<string, Option>>): Record<string, Option> {
  return Object.fromEntries(
    Object.entries(options).flatMap(([names, option]) => names.split(' ').map((name) => [name, option])),
  );
}

/** What the reference system takes from the environment of its command. */
const toUser = 'DSH_TO_USERID';
const password = 'DSH_REMOTE_PASSWORD';
const own: readonly string[] = [toUser, password, 'DSH_FROM_USERID'];

export function readShellRequest({ command = [], raw = [], ENV = {} }: ShellBody): ShellRequest {
  const { options, words } = parseOptions('xdsh', known, optionWords(raw));
  const given = (typeof command === 'string' ? [command] : command).filter((each) => each !== '');
  if (given.some((each) => typeof each !== 'string' && !each[0])) {
    throw new Fault('malformed', 'An array within "command" is a program and its arguments; the program is missing.');
  }
  if (given.length > 0 && words.length > 0) {
    throw new Fault('invalid', `raw holds options of xdsh, and "${words[0]!}" is none; the command is in "command".`);
  }
  const setsUpKeys = options.has('keys');
  // Not `;`, so that a comment or `&` at the end of one does no harm to the next.
  const text = given.length > 0 ? given.map(shellText).join('\n') : words.join(' ');
  if (text.trim() === '' && !setsUpKeys) {
    throw new Fault(
      'missing-operation-data',
      'There is no command to run: "command" is a text for the shell, or an array of such texts and of arrays that hold a ' +
        'program and its arguments.',
    );
  }
  if (options.has('script') && given.length > 1)
    throw new Fault('invalid', 'With -e there is one command, the script.');
  const environment = Object.fromEntries(Object.entries(ENV).map(([name, value]) => [name, String(value)]));
  if (setsUpKeys && !environment[password]) {
    throw new Fault('missing-operation-data', `-K needs the user's password on the nodes: ENV ${password}.`);
  }
  const variables = Object.fromEntries(Object.entries(environment).filter(([name]) => !own.includes(name)));
  return {
    command: text,
    environment: variables,
    user: options.get('user') ?? (environment[toUser] || undefined),
    fanOut: count(options.get('fanOut'), '-f', 1, 1_024),
    seconds: count(options.get('seconds'), '-t', 0, 1_000_000),
    script: options.has('script') ? scriptOf(given[0] ?? text) : undefined,
    environmentFile: plainPath(options.get('environment')),
    tellsExit: options.has('exit'),
    silent: options.has('silent'),
    sudo: options.has('sudo'),
    password: setsUpKeys ? environment[password] : undefined,
    shownOptions: [...shownOptions(options), ...shownVariables(variables)],
  };
}

const shellText = (command: ShellCommand): string => (typeof command === 'string' ? command : commandLine(command));

function scriptOf(command: ShellCommand): Script {
  if (typeof command !== 'string') {
    return { path: plainPath(command[0]!), rest: command.slice(1).map(quoteWord).join(' ') };
  }
  const [, path = '', rest = ''] = /^\s*(\S+)([^]*)$/.exec(command) ?? [];
  return { path: plainPath(path), rest };
}

/** Rules are asked about the argument line, in which a path must be what it looks like. */
function plainPath<Path extends string | undefined>(path: Path): Path {
  if (path === undefined || path === normalize(path)) return path;
  throw new Fault('invalid', `The path "${path}" must have no "." or ".." and no doubled slashes in it.`);
}

const letters: Readonly<Record<string, string>> = {
  script: '-e',
  fanOut: '-f',
  seconds: '-t',
  exit: '-z',
  environment: '-E',
  keys: '-K',
  silent: '-Q',
  sudo: '--sudo',
};

const shownOptions = (options: ReadonlyMap<string, string>): string[] =>
  Object.entries(letters).flatMap(([name, letter]) => {
    const value = options.get(name);
    return value === undefined ? [] : value === '' ? [letter] : [letter, value];
  });

/** A rule that allows a command and nothing else is about a command without variables; their values may be secrets. */
const shownVariables = (variables: Readonly<Record<string, string>>): string[] => {
  const names = Object.keys(variables);
  return names.length === 0 ? [] : ['env', ...names.map((name) => `${shownName(name)}=${hidden}`)];
};

function count(text: string | undefined, option: string, least: number, most: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text.trim());
  if (/^\s*\d+\s*$/.test(text) && value >= least && value <= most) return value;
  throw new Fault('invalid', `${option} takes a whole number from ${least} to ${most}; it is "${text}".`);
}

/** The argument line for the user that is acted as, however that was said: policies name it `-l USER`. */
export function lineAs({ shownOptions: shown, command }: ShellRequest, user: string | undefined): string {
  const words = [...(user === undefined ? [] : ['-l', user]), ...shown, command.replaceAll('\n', ';')];
  return words.filter((word) => word !== '').join(' ');
}

/** The request with another path in the place of that of the script or the environment; what else looks like it stays. */
export function withPath(request: ShellRequest, path: string, other: string): ShellRequest {
  const { command, script, shownOptions: shown } = request;
  return {
    ...request,
    command: script?.path === path ? command.replace(path, () => other) : command,
    shownOptions: shown.map((word) => (word === path ? other : word)),
  };
}
