import { act, selectNodesOrAll, serviceArguments, serviceLine } from './command.ts';

export const makedns = act({
  name: 'makedns',
  args: serviceArguments,
  line: serviceLine,
  select: selectNodesOrAll,
  async run(snapshot, { range, remove }, { dns, selection }) {
    const nodes = selection.nodes ?? [];
    if (range === undefined) return { shape: 'none', messages: await dns.setUp(snapshot) };
    return { shape: 'none', messages: await (remove ? dns.remove(snapshot, nodes) : dns.add(snapshot, nodes)) };
  },
});
