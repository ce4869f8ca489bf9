import { lstatSync, mkdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { home } from '../../core/home.ts';
import { UsageError } from '../client-errors.ts';
import type { CliCommand } from '../invocation.ts';
import { parseOptions } from '../options.ts';
import { commands } from './index.ts';

const program = join(home, 'bin/muster');

export const command: CliCommand = {
  usage: `Usage: muster links DIR

Makes a link in DIR for each familiar command, so that "rpower n1 on" is "muster rpower n1 on". Files that are there already stay
as they are and are told. DIR must stand in PATH for the links to be found.`,
  async run({ argv, stdout, stderr }) {
    const { operands, unknown, flag } = parseOptions(argv, { 'help|h': 'flag' });
    if (flag('help')) {
      stdout.line(command.usage);
      return 0;
    }
    const [directory, ...more] = operands;
    if (unknown.length > 0) throw new UsageError(`There is no option "${unknown[0]}".`);
    if (directory === undefined || more.length > 0) throw new UsageError('Name one directory.');
    mkdirSync(directory, { recursive: true });
    let made = 0;
    let refused = 0;
    for (const [name, { own }] of Object.entries(commands)) {
      if (own) continue;
      const file = join(directory, name);
      const there = whatIs(file);
      if (there === program) continue;
      if (there === undefined) {
        symlinkSync(program, file);
        made += 1;
      } else {
        stderr.line(`muster links: ${file} is there already and stays as it is.`);
        refused += 1;
      }
    }
    stdout.line(`${made} links have been made in ${directory}.`);
    return refused > 0 ? 1 : 0;
  },
};

/** Where a link leads to; an empty text for what is none; undefined where there is nothing. */
function whatIs(file: string): string | undefined {
  try {
    return lstatSync(file).isSymbolicLink() ? readlinkSync(file) : '';
  } catch {
    return undefined;
  }
}
