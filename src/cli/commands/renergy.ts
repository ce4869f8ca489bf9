import { path } from '../client.ts';
import { labelled, nodeCommand, work } from '../nodes/node-command.ts';

export const command = nodeCommand({
  usage: `Usage: renergy NODERANGE [all | ATTRIBUTE,... | ATTRIBUTE=VALUE]

  Power consumption and its limits. ATTRIBUTE=VALUE sets one: cappingstatus=on, cappingvalue=250.`,
  run(call) {
    const { range, words } = call;
    const set = words.find((word) => word.includes('='));
    if (set !== undefined) {
      const [attribute = '', ...value] = set.split('=');
      const body = { [attribute]: value.join('=') };
      return work(call, { method: 'PUT', at: path('nodes', range, 'energy'), body }, { lines: labelled });
    }
    const named = words.filter((word) => word !== 'all' && !word.startsWith('-'));
    const at = path('nodes', range, 'energy', ...(named.length > 0 ? [named.join(',')] : []));
    return work(call, { method: 'GET', at }, { lines: labelled });
  },
});
