import { type Invocation, oneOf, xcatCommand } from '../command.ts';
import { reading } from '../common-options.ts';
import { foundStanza } from '../definitions/found-stanza.ts';
import { UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { flag, refused, valued, verbose } from '../options.ts';

interface FoundSwitch {
  readonly address: string;
  readonly name: string;
  readonly mac: string;
  readonly ports?: number;
  readonly description: string;
  /** By LLDP: which switch hears it, at which port. */
  readonly heardby?: string;
}

const methods = ['snmp', 'lldp'] as const;
type Method = (typeof methods)[number];

export const switchdiscover = xcatCommand({
  usage: `Usage: switchdiscover --range ADDRESSES [-s snmp|lldp|snmp,lldp] [-z]

  Finds switches in a range of addresses, by SNMP. With -s lldp it asks these switches which others they hear by LLDP, and lists the others.
  The site attribute snmpc has the community to ask with; it is public otherwise.`,
  options: {
    range: valued('ADDRESSES', 'the addresses to look at, such as 10.1.0.0/24'),
    s: valued('METHODS', 'how to look: snmp (the default), lldp, or both, separated by a comma'),
    z: flag('as stanzas that mkdef -z reads'),
    w: refused('pipe the stanzas of -z into mkdef -z.'),
    r: refused('muster shows what it has read of the answers.'),
    x: refused('there is no XML; --format json prints data.'),
    c: refused('set the community for all: chdef -t site clustersite snmpc=COMMUNITY.', 'value'),
    setup: refused('muster configures no switches.'),
    ...verbose,
  },
  operands: 0,
  bare: 1,
  common: reading,
  async run(invocation, call) {
    const { stdout } = invocation;
    const asked = new Set((call.value('s') ?? 'snmp').split(',').map((method) => oneOf('-s', method, methods)!));
    const addresses = call.value('range');
    if (addresses === undefined) throw new UsageError('Give the addresses to look at by --range.');
    const isList = !call.flag('z') && !call.common.format;
    const switches: FoundSwitch[] = [];
    for (const method of asked) {
      if (isList) await stdout.line(`Discovering switches using ${method} for ${addresses}.`);
      switches.push(...newOnes(switches, await search(invocation, addresses, method)));
    }
    if (call.common.format) return writeData(invocation, call.common.format, switches);
    if (isList && switches.length === 0) await stdout.line('No switches were found.');
    for (const found of switches) await stdout.write(isList ? line(found) : stanza(found));
    return 0;
  },
});

async function search({ client }: Invocation, addresses: string, method: Method): Promise<FoundSwitch[]> {
  const body = { addresses, ...(method === 'snmp' ? {} : { method }) };
  const reply = await client.call('POST', '/services/switchdiscover', { body });
  return (reply.body as { switches: FoundSwitch[] }).switches;
}

/** A switch that is found in two ways is listed once. */
const newOnes = (known: readonly FoundSwitch[], found: readonly FoundSwitch[]): FoundSwitch[] =>
  found.filter(
    ({ address, mac }) =>
      !known.some((other) => (mac !== '' && other.mac === mac) || (address !== '' && other.address === address)),
  );

function line({ address, name, mac, ports, description, heardby }: FoundSwitch): string {
  const where = heardby === undefined ? `${ports} ports` : `heard by ${heardby}`;
  return `${[address || 'N/A', name || 'N/A', mac || 'N/A', where, description].join('  ')}\n`;
}

/** A switch that calls itself nothing, or what no node can be called, is named after its address, or its MAC address without one. */
function stanza({ address, name, mac }: FoundSwitch): string {
  const own = name.toLowerCase().split('.', 1)[0]!;
  const node = /^[a-z][a-z0-9-]*$/.test(own) ? own : `switch-${(address || mac).replaceAll(/[.:]/g, '-')}`;
  const attributes = { objtype: 'node', groups: 'switch', ip: address, mac, mgt: 'switch', nodetype: 'switch' };
  return foundStanza(node, attributes);
}
