import { path } from '../client.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';

export const command = nodeCommand({
  usage: `Usage: lsvm NODERANGE

  The machines of hypervisors, or the virtual machine of a node as its hypervisor has it.`,
  async run(call) {
    const { client } = call.invocation;
    const kinds = (await client.get(path('nodes', call.range, 'attrs', 'mgt'))) as Record<string, { mgt?: string }>;
    const machines = Object.keys(kinds).filter((node) => kinds[node]!.mgt === 'kvm');
    const others = Object.keys(kinds).filter((node) => kinds[node]!.mgt !== 'kvm');
    let code = 0;
    if (machines.length > 0) {
      const lines = (value: unknown): string[] =>
        Object.entries((value ?? {}) as Record<string, string>).map(([label, text]) => `${label}: ${text}`);
      code ||= await work(
        { ...call, range: machines.join(',') },
        { method: 'GET', at: path('nodes', machines.join(','), 'inventory') },
        { lines },
      );
    }
    if (others.length > 0)
      code ||= await work(
        { ...call, range: others.join(',') },
        { method: 'GET', at: path('nodes', others.join(','), 'subnodes') },
        { lines: () => [''] },
      );
    return code;
  },
});
