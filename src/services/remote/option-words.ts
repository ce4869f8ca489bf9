import { Fault } from '../../core/errors.ts';

/** What an option takes and means; `name` is how it is kept. */
export interface Option {
  readonly name: string;
  readonly takesValue?: boolean;
  /** Why it is refused. */
  readonly refused?: string;
}

export interface ParsedOptions {
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
