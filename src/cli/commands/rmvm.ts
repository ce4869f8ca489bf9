import { path } from '../client.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';

export const command = nodeCommand({
  usage: `Usage: rmvm NODERANGE [-p] [-f]

  Removes the virtual machines of nodes; the nodes stay.
  -p   their disks too
  -f   also those that run, and those that muster has not made`,
  run(call) {
    const { words } = call;
    const body = {
      ...(words.includes('-p') ? { purge: 'yes' } : {}),
      ...(words.includes('-f') ? { force: 'yes' } : {}),
    };
    const request = { method: 'DELETE', at: path('nodes', call.range, 'vm'), body } as const;
    return work(call, request, { lines: () => [], question: 'Remove the virtual machines of' });
  },
});
