import { path } from '../client.ts';
import { usageError } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';

export const command: CliCommand = {
  usage: `Usage: tabgrep NODERANGE

Lists the tables that have a row of one of the nodes, or of one of their groups.`,
  async run(invocation) {
    const { argv, client, stdout } = invocation;
    const [range, ...more] = argv;
    if (range === undefined || range.startsWith('-') || more.length > 0) return usageError(invocation, command.usage);
    for (const table of (await client.get(path('nodes', range, 'tables'))) as string[]) stdout.line(table);
    return 0;
  },
};
