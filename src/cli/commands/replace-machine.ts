import { path } from '../client.ts';
import { say, xcatCommand } from '../command.ts';
import { changing } from '../common-options.ts';
import { Refused, UsageError } from '../errors.ts';
import { warningLine } from '../lines.ts';
import { flag, valued } from '../options.ts';

/** Attributes of nodes that say which hardware a node is and where that stands, by the tables that keep them. */
const placeTables = ['ppc', 'nodepos'];

type Attributes = Readonly<Record<string, string>>;

export const swapnodes = xcatCommand({
  usage: `Usage: swapnodes -c NODE -f OTHER [-o]

Exchanges the hardware of two nodes in the database: all that the tables ppc and nodepos have of them, such as hcp, id, parent, rack and
slot. BMCs, MAC addresses and serial numbers stay: chdef changes these.`,
  options: {
    c: valued('NODE', 'the node that gets the hardware of the other'),
    f: valued('OTHER', 'the other node'),
    o: flag('one way: the other node keeps its own as well'),
  },
  version: false,
  operands: 0,
  bare: 1,
  common: changing,
  async run(invocation, call) {
    const { client, stdout } = invocation;
    const [node, other] = [call.value('c'), call.value('f')];
    if (node === undefined || other === undefined) return say(invocation, swapnodes.usage, 1);
    if (node === other) throw new UsageError('-c and -f name the same node.');
    const names = await placeAttributes(client);
    const query = { values: 'own' };
    const own = async (name: string): Promise<Attributes> => {
      const found = (await client.get(path('definitions', 'node', name), { query })) as Record<string, Attributes>;
      if (Object.keys(found).length !== 1 || !found[name])
        throw new UsageError(`"${name}" is not the name of one node.`);
      return Object.fromEntries(names.map((each) => [each, found[name]![each] ?? '']));
    };
    const [first, second] = [await own(node), await own(other)];
    const definitions = [
      { type: 'node', names: node, attributes: second },
      ...(call.flag('o') ? [] : [{ type: 'node', names: other, attributes: first }]),
    ];
    await client.call('PUT', '/definitions', { body: { definitions } });
    const done = call.flag('o')
      ? `${node} has the hardware of ${other} now.`
      : `${node} and ${other} have exchanged their hardware.`;
    stdout.line(`${done} Run rbootseq ${node} if its boot devices have changed.`);
    return 0;
  },
});

interface Described {
  readonly stored: readonly string[];
}

async function placeAttributes(client: { get(at: string): Promise<unknown> }): Promise<string[]> {
  const known = (await client.get('/attributes/node')) as Record<string, Described | Record<string, Described>>;
  const list = (known['node'] ?? known) as Record<string, Described>;
  return Object.entries(list)
    .filter(([, { stored }]) => stored.some((column) => placeTables.includes(column.split('.', 1)[0]!)))
    .map(([name]) => name);
}

export const nodechmac = xcatCommand({
  usage: `Usage: nodechmac NODE mac=ADDRESS

Gives a node the MAC address of the machine that replaces its own, and reserves its IP address for that machine in DHCP.`,
  operands: 2,
  bare: 1,
  common: changing,
  async run(invocation, { operands: [node = '', word = ''] }) {
    const { client, stdout, stderr } = invocation;
    const [, mac] = /^mac=(.+)$/s.exec(word) ?? [];
    if (node === '' || mac === undefined) return say(invocation, nodechmac.usage, 1);
    const names = Object.keys((await client.get(path('nodes', node, 'attrs', 'mac'), { aside: true })) as object);
    if (names.length !== 1) throw new UsageError(`Name one node, not ${names.length}.`);
    await client.call('PUT', path('nodes', node), { body: { mac } });
    try {
      await client.call('POST', path('nodes', node, 'dhcp'));
    } catch (error) {
      if (!(error instanceof Refused) || error.isDenied) throw error;
      stderr.line(
        warningLine(
          `${node} has the new MAC address, but no reservation in DHCP: ${error.sentences.join(' ')}`,
          client.server,
        ),
      );
      return 0;
    }
    stdout.line(`${node} has the MAC address ${mac} now.`);
    return 0;
  },
});
