import { path } from '../client.ts';
import { helpAndVersion, helpOrVersion, usageError } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { parseOptions } from '../options.ts';

export const command: CliCommand = {
  usage: `Usage: nodepurge NODERANGE
       nodepurge -h | --help | -v | --version

Removes nodes, and what DHCP, DNS and the hosts file have of them.`,
  async run(invocation) {
    const { argv, client } = invocation;
    const options = parseOptions(argv, helpAndVersion);
    const code = helpOrVersion(invocation, command.usage, options);
    if (code !== undefined) return code;
    const [range] = options.operands;
    if (range === undefined) return usageError(invocation, command.usage);
    await client.call('DELETE', path('nodes', range));
    return 0;
  },
};
