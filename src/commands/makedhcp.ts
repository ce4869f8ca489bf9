import { act, selectNodesOrAll, serviceArguments, serviceLine } from './command.ts';

export const makedhcp = act({
  name: 'makedhcp',
  args: serviceArguments,
  uses: ['removedNodes', 'dhcp'],
  line: serviceLine,
  select: selectNodesOrAll,
  async run(snapshot, { range, remove }, { dhcp, removedNodes, selection, run, caller: { user, client } }) {
    await removedNodes.settled();
    if (range === undefined) return { shape: 'none', messages: await dhcp.configure(snapshot) };
    const origin = { user, client, command: 'makedhcp', run };
    const nodes = selection.nodes ?? [];
    if (!remove) return { shape: 'none', messages: await dhcp.reserve(snapshot, nodes, origin) };
    await dhcp.release(nodes, origin);
    return { shape: 'none' };
  },
});
