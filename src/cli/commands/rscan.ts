import { path } from '../client.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';

const columns = ['type', 'name', 'id', 'host'];

export const command = nodeCommand({
  usage: `Usage: rscan NODERANGE [-z]

  Lists the nodes behind a chassis, a management module or a hypervisor. -z writes them as stanzas that mkdef -z reads.`,
  async run(call) {
    const { invocation, range, words } = call;
    const stanzas = words.includes('-z');
    const found: [string, Record<string, string>][] = [];
    const lines = (value: unknown, node: string): string[] => {
      found.push([node, value as Record<string, string>]);
      return [];
    };
    const code = await work(call, { method: 'GET', at: path('nodes', range, 'subnodes') }, { lines });
    if (found.length === 0) return code;
    if (stanzas) {
      for (const [name, attributes] of found) {
        const own = Object.entries(attributes).map(([attribute, value]) => `  ${attribute}=${value}\n`);
        await invocation.stdout.write(`${name}:\n  objtype=node\n${own.join('')}\n`);
      }
      return code;
    }
    const rows = found.map(([name, { type = '', id = '', slot = '', vmhost = '', host = '' }]) => [
      type,
      name,
      id || slot,
      vmhost || host,
    ]);
    const widths = columns.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]!.length)));
    for (const row of [columns, ...rows])
      await invocation.stdout.line(
        row
          .map((cell, at) => cell.padEnd(widths[at]! + 4))
          .join('')
          .trimEnd(),
      );
    return code;
  },
});
