import { everyNode, path } from '../client.ts';
import { type Call, type Invocation, say, xcatCommand } from '../command.ts';
import { acting, type Common, type Format } from '../common-options.ts';
import { Refused, UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { errorLine, ignoredLine } from '../lines.ts';
import { namesIn } from '../nodes/work.ts';
import { flag, refused, verbose } from '../options.ts';
import { act, warn } from '../server-work.ts';

const alsoReading: readonly Common[] = ['format', ...acting];

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
  async refuse({ stderr, client }, _, text) {
    stderr.line(errorLine(text, await client.serverName()));
  },
  async run(invocation, call) {
    checkCall(call);
    const nodes = call.flag('a') ? everyNode : call.operands[0];
    if (call.flag('n')) {
      await checkRange(invocation, call.operands[0]);
      warn(invocation, await act(invocation, 'POST', '/services/dhcp'));
    }
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

/** What would be dropped: options without the nodes that they are for, and those that contradict each other. */
function checkCall({ operands: [range], flag: has, common }: Call): void {
  const isAll = has('a');
  if (isAll && range !== undefined)
    throw new UsageError(`-a is for all nodes: leave "${range}" out, or leave -a out to name nodes.`);
  const other = ['n', 'd'].find((name) => has(name));
  if (has('q') && other !== undefined)
    throw new UsageError(`-q only shows reservations, and -${other} changes them: call makedhcp once for each.`);
  if (common.format !== undefined && !has('q'))
    throw new UsageError('--format shows reservations as data: use it with -q. Nothing was changed.');
  if (has('n') && has('d'))
    throw new UsageError('-n serves the networks, and -d takes reservations back: call makedhcp once for each.');
  if (isAll || has('n') || range !== undefined) return;
  if (has('d'))
    throw new UsageError('-d needs nodes: makedhcp -d NODERANGE takes their reservations back, makedhcp -d -a all.');
  if (has('q')) throw new UsageError('-q needs nodes: makedhcp -q NODERANGE shows their reservations.');
  throw new UsageError('Say what to do: makedhcp -n, makedhcp -a or makedhcp NODERANGE; makedhcp -h shows more.');
}

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
  common: acting,
  async run(invocation, call) {
    const { stdout } = invocation;
    const [range] = call.operands;
    if (call.flag('d') && range === undefined) return say(invocation, makedns.usage, 1);
    const at = range === undefined ? '/services/dns' : path('nodes', range, 'dns');
    if (call.flag('n') && range !== undefined) {
      await checkRange(invocation, range);
      warn(invocation, await act(invocation, 'POST', '/services/dns'));
    }
    warn(invocation, await act(invocation, call.flag('d') ? 'DELETE' : 'POST', at));
    for (const name of await handledNames(invocation, range ?? everyNode))
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

/** Refuses unknown nodes before a service is set up for which they are named. */
async function checkRange({ client }: Invocation, range: string | undefined): Promise<void> {
  if (range !== undefined) await namesIn(client, range);
}

/** The nodes, and the names that their further interfaces have by their suffixes. */
async function handledNames({ client }: Invocation, range: string): Promise<string[]> {
  let nodes: Readonly<Record<string, Readonly<Record<string, string>>>>;
  try {
    nodes = (await client.get(path('nodes', range, 'attrs', 'nichostnamesuffixes'))) as typeof nodes;
  } catch (error) {
    if (error instanceof Refused && error.isEmpty) return [];
    throw error;
  }
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
    'm|mactolinklocal': refused(
      'no program can use a link-local address of the hosts file, which has no interface. Leave -m out, and set the address as ip of the node.',
    ),
  },
  operands: 1,
  common: acting,
  async run(invocation, call) {
    const [range] = call.operands;
    if (call.flag('d')) {
      const other = ['n', 'l', 'o', 'a'].find((name) => call.flag(name));
      if (other !== undefined) throw new UsageError(`-d takes lines out, and -${other} is for those that are written.`);
      if (range !== undefined) await act(invocation, 'DELETE', path('nodes', range, 'host'));
      else
        invocation.stderr.line(
          ignoredLine(
            '-d',
            'it needs nodes. Write makehosts -d NODERANGE; makehosts -d all takes the lines of all nodes out.',
          ),
        );
      return 0;
    }
    if (call.flag('l') && call.flag('o'))
      throw new UsageError('-l and -o each say which names come first. Give one of them; nothing was written.');
    const order = call.flag('l') ? 'long' : call.flag('o') ? 'others' : undefined;
    const body = {
      ...(order === undefined ? {} : { order }),
      ...(call.flag('a') ? { longOthers: true } : {}),
    };
    const write = async (at: string, more: object = {}): Promise<void> =>
      warn(invocation, await act(invocation, 'POST', at, { body: { ...body, ...more } }));
    if (range === undefined) await write('/services/host', { fresh: call.flag('n') });
    else {
      const at = path('nodes', range, 'host');
      await (call.flag('n') ? write('/services/host', { only: range }) : write(at));
    }
    return 0;
  },
});
