import { path } from '../client.ts';
import { nodeCommand, refuseForEach, work } from '../nodes/node-command.ts';

const orders = ['net', 'hd', 'cd', 'floppy', 'def', 'default', 'setup'];

export const command = nodeCommand({
  usage: `Usage: rsetboot NODERANGE [net | hd | cd | floppy | setup | default | stat] [-p] [-u]

  stat   what is set, the default
  -p     for all boots, not only the next
  -u     by UEFI`,
  run(call) {
    const { range, words } = call;
    const [order = 'stat'] = words.filter((word) => !word.startsWith('-'));
    const at = path('nodes', range, 'nextboot');
    const lines = (value: unknown): string[] => [(value as { nextboot: string }).nextboot];
    if (order === 'stat') return work(call, { method: 'GET', at }, { lines });
    if (!orders.includes(order)) return refuseForEach(call, () => ({ error: `unsupported command setboot ${order}` }));
    const body = {
      order,
      ...(words.includes('-p') ? { persistent: 'yes' } : {}),
      ...(words.includes('-u') ? { mode: 'uefi' } : {}),
    };
    return work(call, { method: 'PUT', at, body }, { lines });
  },
});
