import { path } from '../client.ts';
import { nodeCommand, refuseForEach, work } from '../nodes/node-command.ts';

export const command = nodeCommand({
  usage: `Usage: rbeacon NODERANGE on|off|stat

  Switches the light by which a machine is found in its rack; stat tells whether it is on, where the hardware does.`,
  run(call) {
    const { range, words } = call;
    const [action = ''] = words;
    const at = path('nodes', range, 'beacon');
    const lines = (value: unknown): string[] => [(value as { beacon?: string }).beacon ?? action];
    if (action === 'stat') return work(call, { method: 'GET', at }, { lines });
    if (action !== 'on' && action !== 'off')
      return refuseForEach(call, () => ({ error: "Only 'on' or 'off' is supported for IPMI managed nodes." }));
    return work(call, { method: 'PUT', at, body: { action } }, { lines });
  },
});
