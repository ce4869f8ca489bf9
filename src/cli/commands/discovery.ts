import { isNodeName } from '../../core/object-names.ts';
import { type Client, path } from '../client.ts';
import { say, xcatCommand } from '../command.ts';
import { changing, reading } from '../common-options.ts';
import { foundStanza, inOneLine } from '../definitions/found-stanza.ts';
import { Refused, UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { errorLine, ignoredLine } from '../lines.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';
import { filled, flag, refused, valued, verbose } from '../options.ts';

const writes = refused('pipe the stanzas of -z into mkdef -z.');

export const bmcdiscover = xcatCommand({
  usage: `Usage: bmcdiscover --range ADDRESSES [-s ipmi|redfish|nmap] [-u USER -p PASSWORD] [-z]
       bmcdiscover -i ADDRESS -u USER -p PASSWORD -c

  Finds BMCs in an address range. With an account it also asks each for its model, serial number and MAC address.`,
  options: {
    range: filled('ADDRESSES', 'the addresses to look at'),
    's|sourcebmcs': valued('METHOD', 'how to look: ipmi, redfish or nmap'),
    'i|bmcip': valued('ADDRESS', 'the BMC that -c is about'),
    'u|bmcuser': valued('USER', 'the account'),
    'p|bmcpasswd': valued('PASSWORD', 'its password'),
    'z|stanza': flag('as stanzas that mkdef -z reads'),
    'c|check': flag('only check whether the BMC accepts the account'),
    'w|write': writes,
    'n|newbmcpw': refused('rspconfig sets the password of a BMC once its node is defined.', 'value'),
    sn: refused('the server itself looks for BMCs, and no service node does.', 'value'),
    ...verbose,
  },
  operands: 0,
  bare: 0,
  common: reading,
  async run(invocation, call) {
    const { stdout, stderr, client } = invocation;
    const [range, address] = [call.value('range'), call.value('i')];
    const [user, password] = [call.value('u'), call.value('p')];
    const account = password === undefined ? [] : [`bmcuser=${user ?? 'none'}`, `bmcpw=${password}`];
    if (call.flag('c') && address !== undefined) {
      if (account.length === 0) {
        stderr.line(errorLine('Give the account to try by -u and -p.'));
        return 1;
      }
      for (const line of (await client.get(path('services', 'checkbmcauth', address, account.join(',')))) as string[])
        stdout.line(line);
      return 0;
    }
    if (range === undefined) {
      stderr.line(errorLine('Give the addresses to look at by --range.'));
      return 1;
    }
    const method = call.value('s');
    const search = [
      ...(method === undefined ? [] : [`method=${method}`]),
      `iprange=${range.replaceAll(/[\s,]+/g, ';')}`,
      ...account,
    ];
    const found = (await client.get(path('services', 'bmcdiscover', search.join(',')))) as string[];
    if (call.common.format) return writeData(invocation, call.common.format, found.map(attributesOf));
    for (const line of found) await stdout.write(call.flag('z') ? stanza(line) : `${line}\n`);
    return 0;
  },
});

/** The line's fields: address, model, serial number, user, nothing, kind of node, kind of hardware, MAC address. */
function attributesOf(line: string): Record<string, string> {
  const [bmc = '', mtm = '', serial = '', bmcusername = '', , , kind = '', mac = ''] = line.split(',');
  return { bmc, mgt: kind === 'redfish' ? 'redfish' : 'ipmi', mtm, serial, bmcusername, mac };
}

function stanza(line: string): string {
  const { bmc = '', mgt = '', mtm = '', serial = '', bmcusername = '', mac = '' } = attributesOf(line);
  const name = ['node', mtm, serial || bmc.replaceAll(/[.:]/g, '-')].filter(Boolean).join('-').toLowerCase();
  const cons = mgt === 'ipmi' ? 'ipmi' : '';
  const attributes = { objtype: 'node', groups: 'all', bmc, cons, mgt, mtm, serial, bmcusername, mac };
  return foundStanza(name, attributes);
}

const services = ['CEC', 'FRAME', 'MM', 'IVM', 'RSA', 'HMC', 'CMM', 'IMM2', 'FSP', 'BPA', 'XCC', 'SMM', 'REDFISH'];

export const lsslp = xcatCommand({
  usage: `Usage: lsslp [-s SERVICE] [-z | -x]

  Finds devices that announce themselves on the networks.`,
  options: {
    's|service': valued('SERVICE', services.join(', ')),
    'z|stanza': flag('as stanzas that mkdef -z reads'),
    'x|xml': flag('accepted for scripts; prints no XML, and says so'),
    ...verbose,
    'w|write': writes,
    'i|interface': refused('muster looks on all its networks.', 'value'),
    'r|raw': refused('muster shows what it has read of the answers.'),
    'n|new': refused('muster shows all devices; lsdef shows which are defined.'),
    'u|unicast': refused('muster asks by multicast; bmcdiscover --range asks address by address.'),
    range: refused('muster asks by multicast; bmcdiscover --range asks address by address.', 'value'),
    't|tries': refused('muster asks as often as answers get lost.', 'value'),
    'C|counts': refused('muster shows all that answer.', 'value'),
    'T|timeout': refused('muster waits as long as answers come.', 'value'),
    I: refused('lsdef shows which nodes are defined.'),
    vpdtable: refused('use --format table.'),
  },
  operands: 0,
  common: reading,
  async run(invocation, call) {
    const { stdout, stderr, client } = invocation;
    const service = call.value('s');
    if (service !== undefined && !services.includes(service)) {
      const wrong = `Invalid service: ${service}`;
      // Whoever asks for data reads standard output with a program.
      if (call.common.format) throw new UsageError(`${wrong}. There are ${services.join(', ')}.`);
      return say(invocation, wrong, 1);
    }
    const found = (await client.get(
      path('services', 'slpnodes', ...(service === undefined ? [] : [service])),
    )) as Record<string, Record<string, string>>;
    const devices = Object.entries(found);
    if (call.flag('x')) stderr.line(ignoredLine('-x', 'there is no XML. lsslp --format json prints data.'));
    if (call.common.format)
      return writeData(
        invocation,
        call.common.format,
        devices.map(([name, attributes]) => ({ name, attributes })),
      );
    if (devices.length === 0) stdout.line('No responses');
    for (const [name, attributes] of devices) {
      if (call.flag('z')) {
        await stdout.write(foundStanza(name, attributes));
      } else {
        const { hwtype = '', mtm = '', serial = '', ip = '' } = attributes;
        await stdout.line([hwtype, mtm, serial, ip, name].map((cell) => cell || 'N/A').join('  '));
      }
    }
    return 0;
  },
});

const columns = ['type', 'name', 'id', 'host'];

/** What definitions have of what is found, by the attribute; its power, for example, is no part of them. */
const storedAs: Readonly<Record<string, string>> = {
  mgt: 'mgt',
  nodetype: 'nodetype',
  vmhost: 'vmhost',
  model: 'mtm',
  serial: 'serial',
  slot: 'slot',
};

export const rscan = nodeCommand({
  usage: `Usage: rscan NODERANGE [-z]

  Lists the nodes behind a chassis, a management module or a hypervisor.`,
  options: {
    z: flag('as stanzas that mkdef -z reads'),
    w: writes,
    u: refused('pipe the stanzas of -z into chdef -z to update nodes that are defined.'),
    n: refused('pipe the stanzas of -z into mkdef -z, which refuses nodes that are defined.'),
    x: refused('use --format json for programs.'),
  },
  async run(call) {
    const { invocation, range } = call;
    const found: [string, Record<string, string>][] = [];
    const lines = (value: unknown, node: string): string[] => {
      found.push([node, value as Record<string, string>]);
      return [];
    };
    const code = await work(call, { method: 'GET', at: path('nodes', range, 'subnodes') }, { lines });
    if (found.length === 0 || call.common.format || call.common.fold) return code;
    if (call.flag('z')) {
      const others = found.filter(([name]) => !isNodeName(name)).map(([name]) => `"${inOneLine(name)}"`);
      for (const [name, attributes] of found) {
        if (!isNodeName(name)) continue;
        const stored = Object.entries(attributes).flatMap(([attribute, value]) =>
          Object.hasOwn(storedAs, attribute) ? [[storedAs[attribute]!, value]] : [],
        );
        const all = { objtype: 'node', groups: 'all', ...(Object.fromEntries(stored) as Record<string, string>) };
        await invocation.stdout.write(foundStanza(name, all, '  '));
      }
      if (others.length === 0) return code;
      invocation.stderr.line(
        errorLine(`No node can be called like these, so they have no stanza: ${others.join(', ')}.`),
      );
      return 1;
    }
    const rows = found.map(([name, { type = '', id = '', slot = '', vmhost = '', host = '' }]) => [
      type,
      inOneLine(name),
      id || slot,
      vmhost || host,
    ]);
    const widths = columns.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]!.length)));
    for (const row of [columns, ...rows])
      await invocation.stdout.line(
        row
          .map((cell, at) => cell.padEnd(widths[at]! + 4))
          .join('')
          .trimEnd(),
      );
    return code;
  },
});

interface Discovery {
  readonly ranges: readonly { readonly noderange: string; readonly free: number }[];
}

/** Nodes of an open range that no machine has become yet; undefined to those who may not look. */
async function freeIn(client: Client, noderange: string): Promise<number | undefined> {
  try {
    const { ranges } = (await client.get('/discovery')) as Discovery;
    return ranges.find((range) => range.noderange === client.asSent(noderange))?.free;
  } catch (error) {
    if (error instanceof Refused) return undefined;
    throw error;
  }
}

const beforehand = (attribute: string): string =>
  `nodes are defined before machines become them. Set it first: chdef NODERANGE ${attribute}=VALUE.`;
const noProfiles = 'there are no profiles. Define the nodes with mkdef, and open their range with noderange=NODERANGE.';

/** Words of xCAT's command that are refused, by why. */
const refusedWords: Readonly<Record<string, string>> = {
  hostiprange: beforehand('ip'),
  bmciprange: beforehand('bmc'),
  groups: beforehand('groups'),
  rack: beforehand('rack'),
  chassis: beforehand('chassis'),
  height: beforehand('height'),
  unit: beforehand('unit'),
  osimage: beforehand('provmethod'),
  networkprofile: noProfiles,
  imageprofile: noProfiles,
  hardwareprofile: noProfiles,
  hostnameformat: noProfiles,
  rank: noProfiles,
};

/** The range that is opened. Every other word is refused before that is done. */
function rangeIn(words: readonly string[]): string {
  for (const word of words) {
    const [, name] = /^(\w+)=/.exec(word) ?? [];
    if (name === 'noderange') continue;
    if (name !== undefined && Object.hasOwn(refusedWords, name))
      throw new UsageError(`${name}= is not supported here: ${refusedWords[name]}`);
    throw new UsageError(`"${word}" is not a word of nodediscoverstart. Write nodediscoverstart noderange=NODERANGE.`);
  }
  const [range = '', ...more] = words.map((word) => word.slice('noderange='.length));
  if (more.length > 0) throw new UsageError('Give noderange= once; its names may be joined by commas.');
  if (range === '') throw new UsageError('Name the nodes: nodediscoverstart noderange=NODERANGE.');
  return range;
}

export const nodediscoverstart = xcatCommand({
  usage: `Usage: nodediscoverstart noderange=NODERANGE

  Lets machines that match no definition become the nodes of a range, in the order of their names. The nodes must be defined.`,
  options: {
    'n|dns': refused('run makedns NODERANGE when the addresses of the nodes are set.'),
    's|skipbmcsetup': flag('do not set up BMCs (always on)'),
    ...verbose,
  },
  bare: 1,
  common: changing,
  async run(invocation, { operands }) {
    const { client, stdout } = invocation;
    const noderange = rangeIn(operands);
    await client.call('POST', '/discovery', { body: { noderange } });
    stdout.line('Sequential Discovery: Started:');
    stdout.line(`    Number of free node names: ${(await freeIn(client, noderange)) ?? 'not known'}`);
    return 0;
  },
});

export const nodediscoverstatus = xcatCommand({
  usage: `Usage: nodediscoverstatus

  Shows whether unknown machines become nodes.`,
  operands: 0,
  common: reading,
  async run(invocation, { common: { format } }) {
    const { client, stdout } = invocation;
    const { ranges } = (await client.get('/discovery')) as Discovery;
    if (format) return writeData(invocation, format, ranges);
    stdout.line(`Sequential Discovery is ${ranges.length > 0 ? 'started' : 'stopped'}.`);
    stdout.line('Profile Discovery is stopped.');
    stdout.line('z/VM Discovery is stopped.');
    return 0;
  },
});

export const nodediscoverstop = xcatCommand({
  usage: `Usage: nodediscoverstop

  Ends nodediscoverstart: unknown machines no longer become nodes of the range.`,
  operands: 0,
  common: changing,
  async run({ client, stdout, stderr }) {
    const { ranges } = (await client.get('/discovery')) as Discovery;
    if (ranges.length === 0) {
      for (const kind of ['Sequential', 'Profile', 'z/VM'])
        stderr.line(errorLine(`${kind} Discovery is stopped.`, client.server));
      return 1;
    }
    await client.call('DELETE', '/discovery');
    stdout.line('Sequential Discovery: Stopped.');
    return 0;
  },
});
