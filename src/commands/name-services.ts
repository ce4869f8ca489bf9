import { Type } from 'typebox';
import { type NameOrder, nameOrders } from '../names/index.ts';
import {
  act,
  everyNode,
  noArguments,
  noLine,
  query,
  selectNodesOrAll,
  serviceArguments,
  serviceLine,
} from './command.ts';

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

/** Addresses that machines have been given by DHCP for a time. */
export const lsleases = query({
  name: 'lsleases',
  args: noArguments,
  uses: ['dhcp'],
  line: noLine,
  select: () => everyNode,
  async run(_snapshot, _args, { dhcp }) {
    const leases = await dhcp.leases();
    return {
      shape: 'value',
      value: leases
        .toSorted((a, b) => (a.address < b.address ? -1 : 1))
        .map(({ expires, ...lease }) => ({ ...lease, expires: new Date(expires * 1_000).toISOString() })),
    };
  },
});
