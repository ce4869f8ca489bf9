import { act, selectNodesOrAll, serviceArguments, serviceLine } from './command.ts';

export const makedns = act({
  name: 'makedns',
  args: serviceArguments,
  uses: ['hosts', 'dns', 'removedNodes'],
  line: serviceLine,
  select: selectNodesOrAll,
  async run(snapshot, { range, remove }, { dns, hosts, removedNodes, selection }) {
    await removedNodes.settled();
    const nodes = selection.nodes ?? [];
    if (range === undefined) {
      // All hosts of the file get records: a node that was removed a moment ago must not be among them.
      await hosts.removeUndefined(snapshot);
      const { messages, lostAliases } = await dns.setUp(snapshot);
      return { shape: 'none', messages: [...messages, ...lostAliases], notes: lostAliases };
    }
    return { shape: 'none', messages: await (remove ? dns.remove(snapshot, nodes) : dns.add(snapshot, nodes)) };
  },
});
