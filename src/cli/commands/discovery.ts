import { path } from '../client.ts';
import { say, xcatCommand } from '../command.ts';
import { changing, reading } from '../common-options.ts';
import { writeData } from '../formats.ts';
import { errorLine } from '../lines.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';
import { namesIn } from '../nodes/work.ts';
import { flag, refused, valued, verbose } from '../options.ts';

const writes = refused('pipe the stanzas of -z into mkdef -z.');

export const bmcdiscover = xcatCommand({
  usage: `Usage: bmcdiscover --range ADDRESSES [-s ipmi|redfish|nmap] [-u USER -p PASSWORD] [-z]
       bmcdiscover -i ADDRESS -u USER -p PASSWORD -c

  Finds BMCs in an address range. With an account it also asks each for its model, serial number and MAC address.`,
  options: {
    range: valued('ADDRESSES', 'the addresses to look at'),
    's|sourcebmcs': valued('METHOD', 'how to look: ipmi, redfish or nmap'),
    'i|bmcip': valued('ADDRESS', 'the BMC that -c is about'),
    'u|bmcuser': valued('USER', 'the account'),
    'p|bmcpasswd': valued('PASSWORD', 'its password'),
    'z|stanza': flag('as stanzas that mkdef -z reads'),
    'c|check': flag('only check whether the BMC accepts the account'),
    'w|write': writes,
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
  const lines = Object.entries(attributes).flatMap(([attribute, value]) =>
    value === '' ? [] : `\t${attribute}=${value}\n`,
  );
  return `${name}:\n${lines.join('')}\n`;
}

const services = ['CEC', 'FRAME', 'MM', 'IVM', 'RSA', 'HMC', 'CMM', 'IMM2', 'FSP', 'BPA', 'XCC', 'SMM', 'REDFISH'];

export const lsslp = xcatCommand({
  usage: `Usage: lsslp [-s SERVICE] [-z | -x]

  Finds devices that announce themselves on the networks.`,
  options: {
    's|service': valued('SERVICE', services.join(', ')),
    'z|stanza': flag('as stanzas that mkdef -z reads'),
    'x|xml': flag('accepted for scripts; changes nothing'),
    ...verbose,
    'w|write': writes,
    'i|interface': refused('muster looks on all its networks.', 'value'),
    'r|raw': refused('muster shows what it has read of the answers.'),
    'n|new': refused('muster shows all devices; lsdef shows which are defined.'),
    'u|unicast': refused('muster asks by multicast; bmcdiscover --range asks address by address.'),
  },
  operands: 0,
  common: reading,
  async run(invocation, call) {
    const { stdout, client } = invocation;
    const service = call.value('s');
    if (service !== undefined && !services.includes(service)) return say(invocation, `Invalid service: ${service}`, 1);
    const found = (await client.get(
      path('services', 'slpnodes', ...(service === undefined ? [] : [service])),
    )) as Record<string, Record<string, string>>;
    const devices = Object.entries(found);
    if (call.common.format)
      return writeData(
        invocation,
        call.common.format,
        devices.map(([name, attributes]) => ({ name, attributes })),
      );
    if (devices.length === 0) stdout.line('No responses');
    for (const [name, attributes] of devices) {
      if (call.flag('z')) {
        const lines = Object.entries(attributes).map(([attribute, value]) => `\t${attribute}=${value}\n`);
        await stdout.write(`${name}:\n${lines.join('')}\n`);
      } else {
        const { hwtype = '', mtm = '', serial = '', ip = '' } = attributes;
        await stdout.line([hwtype, mtm, serial, ip, name].map((cell) => cell || 'N/A').join('  '));
      }
    }
    return 0;
  },
});

const columns = ['type', 'name', 'id', 'host'];

export const rscan = nodeCommand({
  usage: `Usage: rscan NODERANGE [-z]

  Lists the nodes behind a chassis, a management module or a hypervisor.`,
  options: { z: flag('as stanzas that mkdef -z reads'), w: writes },
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
      for (const [name, attributes] of found) {
        const stored = Object.entries(attributes).map(([attribute, value]) => `  ${attribute}=${value}\n`);
        await invocation.stdout.write(`${name}:\n  objtype=node\n${stored.join('')}\n`);
      }
      return code;
    }
    const rows = found.map(([name, { type = '', id = '', slot = '', vmhost = '', host = '' }]) => [
      type,
      name,
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
  readonly unmatched: readonly Readonly<Record<string, string | undefined>>[];
  readonly ranges: readonly { readonly noderange: string }[];
}

export const nodediscoverls = xcatCommand({
  usage: `Usage: nodediscoverls [-l]

  Lists machines that have booted and are not a node, and the reason.`,
  options: { l: flag('show everything that they reported'), V: verbose['verbose|V']! },
  operands: 0,
  common: reading,
  async run(invocation, call) {
    const { client, stdout } = invocation;
    const { unmatched } = (await client.get('/discovery')) as Discovery;
    if (call.common.format) return writeData(invocation, call.common.format, unmatched);
    stdout.line(`Discovered ${unmatched.length} node.`);
    for (const machine of unmatched)
      await stdout.line(
        call.flag('l')
          ? JSON.stringify(machine, null, 2)
          : ['mac', 'uuid', 'serial', 'model', 'reason'].map((name) => machine[name] ?? '-').join('  '),
      );
    return 0;
  },
});

export const nodediscoverstart = xcatCommand({
  usage: `Usage: nodediscoverstart noderange=NODERANGE

  Lets machines that match no definition become the nodes of a range, in the order of their names.`,
  operands: 1,
  common: changing,
  async run(invocation, { operands: [word = ''] }) {
    const { client, stdout } = invocation;
    const [, noderange] = /^noderange=(.+)$/s.exec(word) ?? [];
    if (noderange === undefined) return say(invocation, nodediscoverstart.usage, 1);
    await client.call('POST', '/discovery', { body: { noderange } });
    stdout.line('Sequential Discovery: Started:');
    stdout.line(`    Number of free node names: ${(await namesIn(client, noderange)).length}`);
    return 0;
  },
});

export const nodediscoverstatus = xcatCommand({
  usage: `Usage: nodediscoverstatus

  Shows whether unknown machines become nodes.`,
  operands: 0,
  common: ['curl'],
  async run({ client, stdout }) {
    const { ranges } = (await client.get('/discovery')) as Discovery;
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
