import { act, warn } from '../acts.ts';
import { path } from '../client.ts';
import { Refused } from '../client-errors.ts';
import { told } from '../familiar.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import { errorLine, referenceVersion } from '../lines.ts';
import { parseOptions } from '../options.ts';

const usage = `Usage: makedhcp -n | -a | NODERANGE [-d] | -d -a | -q NODERANGE

  -n           serve all defined networks
  -a           reserve the addresses of all nodes
  NODERANGE    reserve the addresses of these
  -d           take reservations back
  -q           show reservations`;

export const command: CliCommand = {
  usage,
  async run(invocation) {
    const { argv, stdout, stderr, client } = invocation;
    const options = parseOptions(argv, {
      'help|h|?': 'flag',
      'version|v': 'flag',
      'n|new': 'flag',
      'a|all': 'flag',
      'd|delete': 'flag',
      'q|query': 'flag',
      'l|localonly': 'flag',
      'V|verbose': 'flag',
    });
    if (options.flag('help')) return told({ stdout }, usage);
    if (options.flag('version')) return told({ stdout }, `Version ${referenceVersion}`);
    if (argv.length === 0) return told({ stdout }, usage, 1);
    const [range] = options.operands;
    if (options.unknown.length > 0) {
      stderr.line(errorLine(usage, await client.serverName()));
      return 1;
    }
    if (options.flag('n')) await act(invocation, 'POST', '/services/dhcp');
    const nodes = options.flag('a') ? 'all' : range;
    if (nodes === undefined) return 0;
    if (options.flag('q')) return query(invocation, nodes);
    const at = path('nodes', nodes, 'dhcp');
    const messages = await act(invocation, options.flag('d') ? 'DELETE' : 'POST', at);
    // Of all nodes some have no MAC address, and nobody asked for these.
    warn(
      invocation,
      options.flag('a') ? messages.filter((message) => !message.startsWith('Unable to find mac')) : messages,
    );
    return 0;
  },
};

async function query({ client, stdout }: Invocation, range: string): Promise<number> {
  let names: string[];
  try {
    names = Object.keys((await client.get(path('nodes', range, 'attrs', 'groups'))) as object);
  } catch (error) {
    if (error instanceof Refused && error.isEmpty) return 0;
    throw error;
  }
  const { dhcphost = [] } = (await client.get('/tables/dhcphost/rows')) as {
    dhcphost?: { node: string; mac?: string; ip?: string; address?: string }[];
  };
  const wanted = new Set(names);
  for (const { node, mac = '', ip, address } of dhcphost)
    if (wanted.has(node)) await stdout.line(`${node}: ip-address = ${ip ?? address ?? ''}, hardware-address = ${mac}`);
  return 0;
}
