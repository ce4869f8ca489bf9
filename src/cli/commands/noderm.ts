import { path } from '../client.ts';
import { helpAndVersion, helpOrVersion, usageError } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { parseOptions } from '../options.ts';

export const command: CliCommand = {
  usage: `Usage: noderm NODERANGE
       noderm -h | --help | -v | --version

Removes nodes, with their rows in all tables.`,
  async run(invocation) {
    const options = parseOptions(invocation.argv, helpAndVersion);
    const code = helpOrVersion(invocation, command.usage, options);
    if (code !== undefined) return code;
    const [range] = options.operands;
    if (range === undefined) return usageError(invocation, command.usage);
    await invocation.client.call('DELETE', path('nodes', range));
    return 0;
  },
};
