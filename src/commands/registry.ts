import { Compile } from 'typebox/compile';
import { Fault } from '../core/errors.ts';
import type { AnyCommand } from './command.ts';
import * as commands from './index.ts';

/** A command and its arguments for a caller outside this program: both are checked. */
export function commandFor(name: string, args: unknown): { readonly command: AnyCommand; readonly args: unknown } {
  if (!Object.hasOwn(commands, name)) throw new Fault('invalid', `There is no command "${name}".`);
  const command = commands[name as keyof typeof commands] as unknown as AnyCommand;
  const [problem] = Compile(command.args).Errors(args);
  if (problem)
    throw new Fault(
      'malformed',
      `The arguments of ${name} are wrong: ${problem.instancePath.slice(1) || 'they'} ${problem.message}.`,
    );
  return { command, args };
}
