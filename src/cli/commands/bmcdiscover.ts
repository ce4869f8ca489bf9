import { path } from '../client.ts';
import { errorLine } from '../lines.ts';
import { helpAndVersion, helpOrVersion, usageError } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { parseOptions } from '../options.ts';

export const command: CliCommand = {
  usage: `Usage: bmcdiscover --range ADDRESSES [-s ipmi|redfish|nmap] [-u USER -p PASSWORD] [-z]
       bmcdiscover -i ADDRESS -u USER -p PASSWORD -c

  Service processors in an address range. With an account each is asked for its model, serial number and MAC address.
  -z   as stanzas that mkdef -z reads
  -c   only whether the account is accepted`,
  async run(invocation) {
    const { argv, stdout, stderr, client } = invocation;
    const options = parseOptions(argv, {
      ...helpAndVersion,
      range: 'value',
      's|sourcebmcs': 'value',
      'i|bmcip': 'value',
      'u|bmcuser': 'value',
      'p|bmcpasswd': 'value',
      'z|stanza': 'flag',
      'c|check': 'flag',
      'w|write': 'flag',
    });
    const done = helpOrVersion(invocation, command.usage, options);
    if (done !== undefined) return done;
    if (argv.length === 0) return usageError(invocation, command.usage, 0);
    const [range, address] = [options.value('range'), options.value('i')];
    const [user, password] = [options.value('u'), options.value('p')];
    const account = password === undefined ? [] : [`bmcuser=${user ?? 'none'}`, `bmcpw=${password}`];
    if (options.flag('c') && address !== undefined) {
      for (const line of (await client.get(path('services', 'checkbmcauth', address, account.join(',')))) as string[])
        stdout.line(line);
      return 0;
    }
    if (range === undefined) {
      stderr.line(errorLine('Give the addresses to look at by --range.'));
      return 1;
    }
    const method = options.value('s');
    const search = [
      ...(method === undefined ? [] : [`method=${method}`]),
      `iprange=${range.replaceAll(/[\s,]+/g, ';')}`,
      ...account,
    ];
    const found = (await client.get(path('services', 'bmcdiscover', search.join(',')))) as string[];
    for (const line of found) await stdout.write(options.flag('z') ? stanza(line) : `${line}\n`);
    return 0;
  },
};

/** The line's fields: address, model, serial number, user, nothing, kind of node, kind of hardware, MAC address. */
function stanza(line: string): string {
  const [bmc = '', mtm = '', serial = '', bmcusername = '', , , kind = '', mac = ''] = line.split(',');
  const name = ['node', mtm, serial || bmc.replaceAll(/[.:]/g, '-')].filter(Boolean).join('-').toLowerCase();
  const attributes = {
    objtype: 'node',
    groups: 'all',
    bmc,
    cons: kind === 'redfish' ? '' : 'ipmi',
    mgt: kind === 'redfish' ? 'redfish' : 'ipmi',
    mtm,
    serial,
    bmcusername,
    mac,
  };
  const lines = Object.entries(attributes).flatMap(([attribute, value]) =>
    value === '' ? [] : `\t${attribute}=${value}\n`,
  );
  return `${name}:\n${lines.join('')}\n`;
}
