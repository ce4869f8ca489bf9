import { allNodes, groupsOf, membersByGroup } from '../cluster.ts';
import { path } from '../client.ts';
import { told } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { asksHelp } from '../nodes/range-words.ts';

const usage = `Usage: muster groups [NODERANGE]

The groups that nodes are in; without a range all groups that have nodes.`;

export const command: CliCommand = {
  usage,
  async run({ argv, client, stdout }) {
    if (argv.some(asksHelp)) return told({ stdout }, usage);
    const [range] = argv;
    const names =
      range === undefined
        ? [...membersByGroup(await allNodes(client)).keys()]
        : Object.values(
            (await client.get(path('nodes', range, 'attrs', 'groups'))) as Record<string, { groups: string }>,
          ).flatMap(groupsOf);
    for (const name of [...new Set(names)].sort()) await stdout.line(name);
    return 0;
  },
};
