import { Compile } from 'typebox/compile';
import { tableCommandNames } from '../access/policy.ts';
import { Fault } from '../core/errors.ts';
import type { AnyCommand } from './command.ts';
import * as commands from './index.ts';

const byName = new Map(Object.entries(commands) as unknown as [string, AnyCommand][]);

/** All that policy rules can name. */
export const commandNames: ReadonlySet<string> = new Set([
  ...byName.values().map(({ name }) => name),
  ...tableCommandNames,
]);

/** A command and its arguments for a caller outside this program: both are checked. */
export function commandFor(name: string, args: unknown): { readonly command: AnyCommand; readonly args: unknown } {
  const command = byName.get(name);
  if (!command) throw new Fault('invalid', `There is no command "${name}".`);
  const [problem] = Compile(command.args).Errors(args);
  if (problem)
    throw new Fault(
      'malformed',
      `The arguments of ${name} are wrong: ${problem.instancePath.slice(1) || 'they'} ${problem.message}.`,
    );
  return { command, args };
}
