import { UsageError } from '../client-errors.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import { type OptionTable, type ParsedOptions, parseOptions } from '../options.ts';

/** A command of muster's own: help, and what is written wrongly, are told the same way everywhere. */
export const ownCommand = (
  usage: string,
  table: OptionTable,
  run: (invocation: Invocation, options: ParsedOptions) => Promise<number>,
): CliCommand => ({
  usage,
  async run(invocation) {
    const options = parseOptions(invocation.argv, { ...table, 'help|h': 'flag' });
    if (options.flag('help')) {
      invocation.stdout.line(usage);
      return 0;
    }
    const [stranger] = options.unknown;
    if (stranger !== undefined) throw new UsageError(`There is no option "${stranger}".`);
    const [lacking] = options.lacking;
    if (lacking !== undefined) throw new UsageError(`The option "${lacking}" needs a value.`);
    return run(invocation, options);
  },
});

/** The operands, if there are as many as there may be. */
export function operandsOf({ operands }: ParsedOptions, least: number, most: number, what: string): readonly string[] {
  if (operands.length < least || operands.length > most) throw new UsageError(what);
  return operands;
}

export function oneOf<T extends string>(name: string, value: string | undefined, allowed: readonly T[]): T | undefined {
  if (value !== undefined && !(allowed as readonly string[]).includes(value))
    throw new UsageError(`${name} is one of ${allowed.join(', ')}, not "${value}".`);
  return value as T | undefined;
}
