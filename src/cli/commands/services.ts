import { path } from '../client.ts';
import { type Invocation, say, xcatCommand } from '../command.ts';
import { changing, type Common, type Format } from '../common-options.ts';
import { writeData } from '../formats.ts';
import { errorLine } from '../lines.ts';
import type { RowChange } from '../muster/row-diff.ts';
import { namesIn } from '../nodes/work.ts';
import { flag, refused, verbose } from '../options.ts';
import { act, warn } from '../server-work.ts';

const alsoReading: readonly Common[] = ['format', ...changing];

export const makedhcp = xcatCommand({
  usage: `Usage: makedhcp -n | -a | NODERANGE [-d] | -d -a | -q NODERANGE

  Reserves the addresses of nodes.`,
  options: {
    'n|new': flag('serve all defined networks'),
    'a|all': flag('reserve the addresses of all nodes'),
    'd|delete': flag('take reservations back'),
    'q|query': flag('show reservations'),
    ...verbose,
    'l|localonly': flag('only on this server (always on)'),
  },
  operands: 1,
  bare: 1,
  common: alsoReading,
  async refuse({ stderr, client }, _, usage) {
    stderr.line(errorLine(usage, await client.serverName()));
    return 1;
  },
  async run(invocation, call) {
    if (call.flag('n')) await act(invocation, 'POST', '/services/dhcp');
    const nodes = call.flag('a') ? 'all' : call.operands[0];
    if (nodes === undefined) return 0;
    if (call.flag('q')) return showReservations(invocation, nodes, call.common.format);
    const at = path('nodes', nodes, 'dhcp');
    const messages = await act(invocation, call.flag('d') ? 'DELETE' : 'POST', at);
    // Of all nodes some have no MAC address, and nobody asked for these.
    const wanted = messages.filter((message) => !call.flag('a') || !message.startsWith('Unable to find mac'));
    warn(invocation, wanted);
    return 0;
  },
});

interface Reservation {
  readonly node: string;
  readonly mac?: string;
  readonly ip?: string;
  readonly address?: string;
}

async function showReservations(invocation: Invocation, range: string, format: Format | undefined): Promise<number> {
  const { client, stdout } = invocation;
  const wanted = new Set(await namesIn(client, range));
  if (wanted.size === 0) return 0;
  const { dhcphost = [] } = (await client.get('/tables/dhcphost/rows')) as { dhcphost?: readonly Reservation[] };
  const found = dhcphost.filter(({ node }) => wanted.has(node));
  if (format)
    return writeData(
      invocation,
      format,
      found.map(({ node, mac = '', ip, address = '' }) => ({ node, ip: ip ?? address, mac })),
    );
  for (const { node, mac = '', ip, address } of found)
    await stdout.line(`${node}: ip-address = ${ip ?? address ?? ''}, hardware-address = ${mac}`);
  return 0;
}

export const makedns = xcatCommand({
  usage: `Usage: makedns [NODERANGE] [-n] [-d] [-V]

  Puts the names of nodes into DNS; without a range all of the hosts file.`,
  options: {
    'n|new': flag('set the service up'),
    'd|delete': flag('take the names out'),
    ...verbose,
    'e|external': refused('site.externaldns and the DNS settings of the server say where names go.'),
  },
  operands: 1,
  common: changing,
  refuse: (invocation, { operands }, usage) => say(invocation, usage, operands.length > 1 ? 1 : 0),
  async run(invocation, call) {
    const { stdout } = invocation;
    const [range] = call.operands;
    if (call.flag('d') && range === undefined) return say(invocation, makedns.usage, 1);
    const at = range === undefined ? '/services/dns' : path('nodes', range, 'dns');
    warn(invocation, await act(invocation, call.flag('d') ? 'DELETE' : 'POST', at));
    if (call.flag('n') && range !== undefined) await act(invocation, 'POST', '/services/dns');
    for (const name of await handledNames(invocation, range ?? 'all'))
      await stdout.line(`Handling ${name} in /etc/hosts.`);
    for (const line of steps) stdout.line(line);
    return 0;
  },
});

const steps = [
  'Getting reverse zones, this may take several minutes for a large cluster.',
  'Completed getting reverse zones.',
  'Updating zones.',
  'Completed updating zones.',
  'Updating DNS records, this may take several minutes for a large cluster.',
  'Completed updating DNS records.',
  'DNS setup is completed',
];

/** The nodes, and the names that their further interfaces have by their suffixes. */
async function handledNames({ client }: Invocation, range: string): Promise<string[]> {
  const nodes = (await client.get(path('nodes', range, 'attrs', 'nichostnamesuffixes'))) as Record<
    string,
    Record<string, string>
  >;
  return Object.entries(nodes).flatMap(([node, suffixes]) => [
    node,
    ...Object.values(suffixes).flatMap((value) => value.split('|').map((suffix) => `${node}${suffix}`)),
  ]);
}

export const makehosts = xcatCommand({
  usage: `Usage: makehosts [NODERANGE] [-n] [-l] [-o] [-a] [-d]

  Writes names and addresses of nodes to the hosts file.`,
  options: {
    n: flag("drop all other lines but the management node's own"),
    'l|longnamefirst': flag('long names first'),
    'o|othernamesfirst': flag('other names first'),
    'a|adddomaintohostnames': flag('other names with their domain too'),
    d: flag("take the nodes' lines out"),
    'm|mactolinklocal': flag('accepted for scripts; muster writes no link-local addresses'),
  },
  operands: 1,
  common: changing,
  refuse: (invocation, { operands }, usage) => say(invocation, usage, operands.length > 1 ? 1 : 0),
  async run(invocation, call) {
    const [range] = call.operands;
    if (call.flag('d')) {
      if (range !== undefined) await act(invocation, 'DELETE', path('nodes', range, 'host'));
      return 0;
    }
    const order = call.flag('l') ? 'long' : call.flag('o') ? 'others' : undefined;
    const body = {
      ...(order === undefined ? {} : { order }),
      ...(call.flag('a') ? { longOthers: true } : {}),
    };
    if (call.flag('n')) await act(invocation, 'POST', '/services/host', { body: { ...body, fresh: true } });
    // Of the nodes only those that are named stay.
    if (call.flag('n') && range !== undefined) await act(invocation, 'DELETE', path('nodes', 'all', 'host'));
    if (range !== undefined) await act(invocation, 'POST', path('nodes', range, 'host'), { body });
    else if (!call.flag('n')) await act(invocation, 'POST', '/services/host', { body });
    return 0;
  },
});

export const makenetworks = xcatCommand({
  usage: `Usage: makenetworks [-d] [ATTRIBUTE=VALUE]...

  Defines the networks that the management node is in.`,
  options: { 'd|display': flag('only show what would be defined'), ...verbose },
  common: changing,
  async run(invocation, call) {
    if (call.operands.some((word) => !word.includes('='))) return say(invocation, makenetworks.usage, 1);
    if (call.flag('d')) return showNetworks(invocation);
    const body = Object.fromEntries(
      call.operands.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]),
    );
    await act(invocation, 'POST', '/networks', { body });
    return 0;
  },
});

async function showNetworks({ client, stdout }: Invocation): Promise<number> {
  const { body } = await client.call('POST', '/networks', { body: {}, query: { dryRun: '1' } });
  const changes = ((body as { changes?: readonly RowChange[] } | undefined)?.changes ?? []).filter(
    ({ table }) => table === 'networks',
  );
  stdout.line(`\n#From ${client.server}.`);
  for (const { key, after } of changes) {
    const lines = Object.entries(after ?? {}).map(([attribute, value]) => `    ${attribute}=${value}\n`);
    stdout.write(`${Object.values(key).join(',')}:\n    objtype=network\n${lines.join('')}\n`);
  }
  return 0;
}

export const makeroutes = xcatCommand({
  usage: `Usage: makeroutes

  muster sets no routes on the management node; it only says whether site.mnroutenames asks for some.`,
  operands: 0,
  async run({ client, stdout, stderr }) {
    const site = (await client.get('/globalconf/attrs/mnroutenames')) as { clustersite?: { mnroutenames?: string } };
    if (!site.clustersite?.mnroutenames) {
      stdout.line('No routes defined in the site.mnroutenames for the management node.');
      return 0;
    }
    stderr.line('Error: muster sets no routes; take site.mnroutenames away, or set them on the machine itself.');
    return 1;
  },
});
