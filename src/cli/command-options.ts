import { type CommandOption, type CommandOptions, memberOf, writtenOption } from '../core/command-options.ts';
import type { OptionKind, OptionTable, ParsedOptions } from './options.ts';

/** The options of a command as the command line reads them and its help lists them. */
export const optionTable = (options: CommandOptions): OptionTable =>
  Object.fromEntries(
    Object.values(options).flatMap(({ kind, option, value, help }) =>
      option === undefined
        ? []
        : [
            [
              option,
              kind === 'flag' ? { kind, help } : { kind: valueKind(kind), help, ...(value && { value, filled: true }) },
            ] as const,
          ],
    ),
  );

/** A list may be given in parts. */
const valueKind = (kind: CommandOption['kind']): OptionKind => (kind === 'list' ? 'values' : 'value');

/** As the first line of the help shows them. */
export const optionUsage = (options: CommandOptions): string =>
  Object.values(options)
    .map((option) => (option.required ? shown(option) : `[${shown(option)}]`))
    .join(' ');

const shown = (option: CommandOption): string =>
  [writtenOption(option) ?? [], option.kind === 'flag' ? [] : (option.value ?? [])].flat().join(' ');

/** The body of the request, by what was given; `words` are the operands behind the range. */
export function optionBody(
  options: CommandOptions,
  given: Pick<ParsedOptions, 'values' | 'value' | 'has'>,
  words: readonly string[],
): Readonly<Record<string, string>> {
  const operands = [...words];
  return Object.fromEntries(
    Object.entries(options).flatMap((entry) => {
      const [name] = entry[1].option?.split('|', 1) ?? [];
      if (name !== undefined && !given.has(name)) return [];
      const value = name === undefined ? operands.shift() : valueOf(entry[1], name, given);
      if (name === undefined && value === undefined) return [];
      return [[memberOf(entry), entry[1].kind === 'flag' ? 'yes' : (value ?? '')] as const];
    }),
  );
}

const valueOf = (
  { kind }: CommandOption,
  name: string,
  given: Pick<ParsedOptions, 'values' | 'value'>,
): string | undefined => (kind === 'list' ? given.values(name).join(',') : given.value(name));
