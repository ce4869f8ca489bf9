import { type CommandOption, type CommandOptions, memberOf, writtenOption } from '../core/command-options.ts';
import type { OptionTable, ParsedOptions } from './options.ts';

/** The options of a command as the command line reads them. */
export const optionTable = (options: CommandOptions): OptionTable =>
  Object.fromEntries(
    Object.values(options).flatMap(({ kind, option }) =>
      option === undefined ? [] : [[option, kind === 'flag' ? 'flag' : 'value'] as const],
    ),
  );

/** As the first line of the help shows them. */
export const optionUsage = (options: CommandOptions): string =>
  Object.values(options)
    .map((option) => (option.required ? shown(option) : `[${shown(option)}]`))
    .join(' ');

/** A line of the help for each. */
export function optionHelp(options: CommandOptions): string {
  const lines = Object.values(options).map((option) => [shown(option), option.help] as const);
  const width = Math.max(...lines.map(([written]) => written.length));
  return lines.map(([written, help]) => `  ${written.padEnd(width)}   ${help}`).join('\n');
}

const shown = (option: CommandOption): string =>
  [writtenOption(option) ?? [], option.kind === 'flag' ? [] : (option.value ?? [])].flat().join(' ');

/** The body of the request, by what was given. */
export function optionBody(options: CommandOptions, given: ParsedOptions): Readonly<Record<string, string>> {
  const operands = [...given.operands];
  return Object.fromEntries(
    Object.entries(options).flatMap((entry) => {
      const [name] = entry[1].option?.split('|', 1) ?? [];
      const value = name === undefined ? operands.shift() : given.value(name);
      if (value === undefined) return [];
      return [[memberOf(entry), entry[1].kind === 'flag' ? 'yes' : value] as const];
    }),
  );
}
