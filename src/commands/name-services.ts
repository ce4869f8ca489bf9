import { Type } from 'typebox';
import { type NameOrder, nameOrders } from '../names/index.ts';
import {
  act,
  type Answer,
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
    failsOnNodesLeftOut: Type.Optional(Type.Boolean({ description: 'a node that is left out is an error' })),
  }),
  daemon: 'names',
  uses: ['hosts', 'removedNodes'],
  line({ remove, order = 'short', longOthers, fresh }) {
    if (remove) return ['-d'];
    return [...(fresh ? ['-n'] : []), ...orderFlags[order], ...(longOthers ? ['-a'] : [])];
  },
  // Lines of all are dropped, so rights on the nodes whose lines are written do not suffice.
  select: (snapshot, args, ranges) => ({
    ...selectNodesOrAll(snapshot, args, ranges),
    ...(args.fresh ? { nodes: undefined, every: true } : {}),
  }),
  async run(snapshot, { remove, order, ...options }, { hosts, removedNodes, selection }) {
    await removedNodes.settled();
    const { longOthers = false, fresh = false, failsOnNodesLeftOut } = options;
    if (!remove) {
      const format = { order, longOthers, fresh, failsOnNodesLeftOut };
      return { shape: 'none', messages: await hosts.write(snapshot, selection.objects, format) };
    }
    await hosts.remove(snapshot, selection.objects ?? []);
    return { shape: 'none' };
  },
});

/** Nothing was done, and that is no error: as with xCAT, scripts may come before the service. */
const onlyNoted = (note: string): Answer => ({ shape: 'none', messages: [note], notes: [note] });

const noServer =
  'No DNS server serves these names yet, so nothing was written. POST /services/dns sets it up with all hosts of the hosts file.';
const noNames = 'No DNS server is set up yet, so there were no names to remove.';
const noSubnets =
  'DHCP is not configured yet, so nothing is reserved. POST /services/dhcp configures it for all networks; then reserve the addresses again.';

export const makedns = act({
  name: 'makedns',
  args: serviceArguments,
  daemon: 'names',
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
    if (!dns.isSetUp(snapshot)) return onlyNoted(remove ? noNames : noServer);
    return { shape: 'none', messages: await (remove ? dns.remove(snapshot, nodes) : dns.add(snapshot, nodes)) };
  },
});

export const makedhcp = act({
  name: 'makedhcp',
  args: serviceArguments,
  daemon: 'dhcp',
  uses: ['removedNodes', 'dhcp'],
  line: serviceLine,
  select: selectNodesOrAll,
  async run(snapshot, { range, remove }, { dhcp, removedNodes, selection, run, caller: { user, client } }) {
    await removedNodes.settled();
    if (range === undefined) return { shape: 'none', messages: await dhcp.configure(snapshot) };
    const origin = { user, client, command: 'makedhcp', run };
    const nodes = selection.nodes ?? [];
    if (remove) {
      await dhcp.release(nodes, origin);
      return { shape: 'none' };
    }
    if (!(await dhcp.wasConfigured())) return onlyNoted(noSubnets);
    const { messages, refused } = await dhcp.reserve(snapshot, nodes, origin);
    if (refused.size < nodes.length) refused.advise('All other nodes of the request are done.');
    refused.tell();
    return { shape: 'none', messages };
  },
});

/** Addresses that machines have been given by DHCP for a time. */
export const lsleases = query({
  name: 'lsleases',
  args: noArguments,
  daemon: 'dhcp',
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
