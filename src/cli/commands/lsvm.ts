import { path } from '../client.ts';
import { labelled, type NodeCall, nodeCommand, work } from '../nodes/node-command.ts';

export const command = nodeCommand({
  usage: `Usage: lsvm NODERANGE

  The machines of hypervisors, or the virtual machine of a node as its hypervisor has it.`,
  async run(call) {
    const { client, stdout } = call.invocation;
    const kinds = (await client.get(path('nodes', call.range, 'attrs', 'mgt'))) as Record<string, { mgt?: string }>;
    const isMachine = (node: string): boolean => kinds[node]!.mgt === 'kvm';
    const names = Object.keys(kinds);
    const described = await ask(call, names.filter(isMachine), 'inventory', labelled);
    const listed = await ask(
      call,
      names.filter((node) => !isMachine(node)),
      'subnodes',
      (_value, machine) => {
        stdout.line(machine);
        return [];
      },
    );
    return Math.max(described, listed);
  },
});

async function ask(
  call: NodeCall,
  nodes: readonly string[],
  word: string,
  lines: (value: unknown, node: string) => readonly string[],
): Promise<number> {
  if (nodes.length === 0) return 0;
  const range = nodes.join(',');
  return work({ ...call, range }, { method: 'GET', at: path('nodes', range, word) }, { lines });
}
