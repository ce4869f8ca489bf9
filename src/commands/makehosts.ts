import { Type } from 'typebox';
import { act, selectNodesOrAll } from './command.ts';
import { type NameOrder, nameOrders } from '../services/hosts/line-format.ts';

const orderFlags: Readonly<Record<NameOrder, readonly string[]>> = { short: [], long: ['-l'], others: ['-o'] };

export const makehosts = act({
  name: 'makehosts',
  args: Type.Object({
    range: Type.Optional(Type.String({ description: 'without it all nodes' })),
    refuseEmpty: Type.Optional(Type.Boolean()),
    remove: Type.Optional(Type.Boolean()),
    order: Type.Optional(Type.Enum([...nameOrders], { description: 'which name comes first; else as the site says' })),
    longOthers: Type.Optional(Type.Boolean({ description: 'writes other names with their domain too' })),
    fresh: Type.Optional(Type.Boolean({ description: "drops all lines but the management node's own first" })),
  }),
  uses: ['hosts', 'removedNodes'],
  line({ remove, order = 'short', longOthers, fresh }) {
    if (remove) return ['-d'];
    return [...(fresh ? ['-n'] : []), ...orderFlags[order], ...(longOthers ? ['-a'] : [])];
  },
  select: selectNodesOrAll,
  async run(snapshot, { remove, order, longOthers = false, fresh = false }, { hosts, removedNodes, selection }) {
    await removedNodes.settled();
    if (!remove)
      return { shape: 'none', messages: await hosts.write(snapshot, selection.nodes, { order, longOthers, fresh }) };
    await hosts.remove(snapshot, selection.nodes ?? []);
    return { shape: 'none' };
  },
});
