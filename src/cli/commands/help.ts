import type { CliCommand } from '../invocation.ts';
import { commands } from './index.ts';

export const command: CliCommand = {
  usage: `Usage: muster help [COMMAND]

Lists all commands, or shows the help of one.`,
  async run({ argv: [name], stdout, stderr }) {
    if (name !== undefined && !name.startsWith('-')) {
      const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
      if (entry) stdout.line((await entry.load()).command.usage);
      else stderr.line(`muster: There is no command "${name}".`);
      return entry ? 0 : 2;
    }
    const names = Object.keys(commands).sort();
    const width = Math.max(...names.map((each) => each.length));
    stdout.line('Usage: muster COMMAND [ARGUMENTS], or the command alone where "muster links DIR" has made links.\n');
    for (const each of names) stdout.line(`  ${each.padEnd(width)}  ${commands[each]!.summary}`);
    return 0;
  },
};
