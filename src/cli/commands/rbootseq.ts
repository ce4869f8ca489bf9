import { path } from '../client.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';

export const command = nodeCommand({
  usage: `Usage: rbootseq NODERANGE [NAME,...]

  Without names: what nodes try to boot from, in this order. With names: these first, for good.`,
  run(call) {
    const { range, words } = call;
    const order = words.flatMap((word) => word.split(',')).filter(Boolean);
    const at = path('nodes', range, 'bootorder');
    const lines = (value: unknown): string[] => [(value as { bootorder?: string }).bootorder ?? order.join(',')];
    return work(call, order.length > 0 ? { method: 'PUT', at, body: { order } } : { method: 'GET', at }, { lines });
  },
});
