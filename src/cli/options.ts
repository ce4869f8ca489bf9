/**
 * Options in the style of xCAT's commands: short ones may be bundled (`-si mgt`), long ones shortened as far as they
 * stay unique (`--ver`), values joined or apart (`-tnode`, `-t node`, `--type=node`), and options may stand among the operands.
 */
export interface OptionTable {
  /** Names joined by `|`, the first being the one the value is found under: `'type|t'`. */
  readonly [names: string]: OptionKind | OptionRow;
}

/** `flag`: no value; `value`: one; `values`: one each time; `optional`: one, if the next word can be one. */
export type OptionKind = 'flag' | 'value' | 'values' | 'optional';

export interface OptionRow {
  readonly kind: OptionKind;
  /** What stands for its value in the help. */
  readonly value?: string;
  /** What it does. */
  readonly help?: string;
  /** It must be written out: no beginning of it counts, and it takes no such beginning from others. */
  readonly exact?: true;
  /** An empty value, as an unset variable leaves it, is refused. */
  readonly filled?: true;
  /** Why it is refused, where xCAT has it and muster cannot do it. */
  readonly refused?: string;
}

export const flag = (help: string): OptionRow => ({ kind: 'flag', help });
export const valued = (value: string, help: string): OptionRow => ({ kind: 'value', value, help });
export const filled = (value: string, help: string): OptionRow => ({ kind: 'value', value, help, filled: true });
export const repeated = (value: string, help: string): OptionRow => ({ kind: 'values', value, help });
export const refused = (why: string, kind: OptionKind = 'flag'): OptionRow => ({ kind, refused: why });

/** xCAT's commands say more with it; where muster has nothing more to say, scripts may give it all the same. */
export const verbose: OptionTable = { 'verbose|V': flag('accepted for scripts; there is nothing more to print') };

export interface OptionRules {
  /** Options end at this operand, counted from 1: what follows are words of another command. */
  readonly optionsEndAt?: number;
  /** `-long` is a long option; nothing is bundled. */
  readonly unbundled?: boolean;
  /** What is not known is an operand. */
  readonly passUnknown?: boolean;
}

export interface ParsedOptions {
  readonly operands: readonly string[];
  /** Options nobody knows, or that take no value and have one, as they were written but for their dashes. */
  readonly unknown: readonly string[];
  /** Options that lack their value, likewise. */
  readonly lacking: readonly string[];
  /** Options of one value that have two, likewise. */
  readonly doubled: readonly string[];
  flag(name: string): boolean;
  /** The value; of an `optional` without one an empty text. */
  value(name: string): string | undefined;
  values(name: string): readonly string[];
  /** It was given, with or without a value. */
  has(name: string): boolean;
}

interface Known {
  readonly name: string;
  readonly kind: OptionKind;
  readonly exact: boolean;
}

export function parseOptions(argv: readonly string[], table: OptionTable, rules: OptionRules = {}): ParsedOptions {
  const known = new Map<string, Known>();
  for (const [names, row] of Object.entries(table)) {
    const all = names.split('|');
    const { kind, exact = false } = typeof row === 'string' ? { kind: row } : row;
    for (const each of all) known.set(each, { name: all[0]!, kind, exact });
  }
  const found = new Map<string, string[]>();
  const operands: string[] = [];
  const unknown: string[] = [];
  const lacking: string[] = [];
  const doubled = new Set<string>();
  const words = [...argv];

  const take = ({ name, kind }: Known, written: string, joined: string | undefined): void => {
    const note = (value: string): void => {
      const before = found.get(name) ?? [];
      // The same value again is no contradiction.
      if (kind !== 'values' && before.some((other) => other !== value)) doubled.add(written);
      found.set(name, [...before, value]);
    };
    if (kind === 'flag') note('');
    else if (joined !== undefined) note(joined);
    else if (kind === 'optional') note(words[0] === undefined || isOption(words[0]) ? '' : words.shift()!);
    else if (words.length === 0) lacking.push(written);
    else note(words.shift()!);
  };
  const stranger = (word: string, written: string): void => {
    if (rules.passUnknown) operands.push(word);
    else unknown.push(written);
  };
  const long = (word: string, text: string): void => {
    const [written = '', ...value] = text.split('=');
    const option = longOption(known, written);
    const joined = value.length > 0 ? value.join('=') : undefined;
    if (!option) stranger(word, written);
    // Known, but not with a value: no command takes it for a word of another one.
    else if (option.kind === 'flag' && joined !== undefined) unknown.push(written);
    else take(option, written, joined);
  };
  const bundle = (word: string): void => {
    for (let at = 1; at < word.length; at += 1) {
      const letter = word[at]!;
      const option = known.get(letter);
      if (!option) {
        if (at === 1) {
          stranger(word, letter);
          if (rules.passUnknown) return;
        } else unknown.push(letter);
        continue;
      }
      const rest = word.slice(at + 1);
      if (option.kind !== 'flag' && rest !== '') {
        take(option, letter, rest.startsWith('=') ? rest.slice(1) : rest);
        return;
      }
      take(option, letter, undefined);
    }
  };

  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === '--') {
      operands.push(...words);
      break;
    }
    if (!isOption(word)) {
      operands.push(word);
      if (operands.length === rules.optionsEndAt) {
        operands.push(...words);
        break;
      }
    } else if (word.startsWith('--')) long(word, word.slice(2));
    else if (rules.unbundled) long(word, word.slice(1));
    else bundle(word);
  }
  return {
    operands,
    unknown,
    lacking,
    doubled: [...doubled],
    flag: (name) => found.has(name),
    has: (name) => found.has(name),
    value: (name) => found.get(name)?.at(-1),
    values: (name) => found.get(name) ?? [],
  };
}

const isOption = (word: string): boolean => word.length > 1 && word.startsWith('-');

/** By its name, or by the beginning of only one. */
function longOption(known: ReadonlyMap<string, Known>, written: string): Known | undefined {
  const exact = known.get(written);
  if (exact || written === '') return exact;
  const begun = [...known].filter(([name, { exact: whole }]) => name.length > 1 && !whole && name.startsWith(written));
  return new Set(begun.map(([, { name }]) => name)).size === 1 ? begun[0]![1] : undefined;
}

/** With the dashes of its length. */
export const writtenName = (name: string): string => (name.length > 1 ? `--${name}` : `-${name}`);

/** The names of options that have a help, as they are written, the short one first. */
export const writtenNames = (names: string): string[] =>
  names
    .split('|')
    .toSorted((a, b) => a.length - b.length)
    .map(writtenName);

/** A line for each option of the table that has a help. */
export const optionHelp = (table: OptionTable): string =>
  helpLines(
    Object.entries(table).flatMap(([names, row]): [string, string][] => {
      if (typeof row === 'string' || row.help === undefined) return [];
      return [[[writtenNames(names).join(', '), row.value ?? ''].filter(Boolean).join(' '), row.help]];
    }),
  );

const widestName = 30;

/** Names and what they mean, in two columns. */
export function helpLines(lines: readonly (readonly [name: string, help: string])[]): string {
  const width = Math.max(0, ...lines.map(([name]) => name.length).filter((length) => length <= widestName));
  return lines.map(([name, help]) => `  ${name.padEnd(width)}   ${help}`).join('\n');
}
