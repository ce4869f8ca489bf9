import { path } from '../client.ts';
import { helpAndVersion, helpOrVersion } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { parseOptions } from '../options.ts';

const services = ['CEC', 'FRAME', 'MM', 'IVM', 'RSA', 'HMC', 'CMM', 'IMM2', 'FSP', 'BPA', 'XCC', 'SMM', 'REDFISH'];

export const command: CliCommand = {
  usage: `Usage: lsslp [-s SERVICE] [-z | -x]

  Devices that announce themselves on the networks. SERVICE: ${services.join(', ')}.
  -z   as stanzas that mkdef -z reads
  -x   taken as scripts give it; nothing else is printed`,
  async run(invocation) {
    const { stdout, client } = invocation;
    const options = parseOptions(invocation.argv, {
      ...helpAndVersion,
      's|service': 'value',
      'z|stanza': 'flag',
      'x|xml': 'flag',
      'V|verbose': 'flag',
      'w|write': 'flag',
      'i|interface': 'value',
      'r|raw': 'flag',
      'n|new': 'flag',
      'u|unicast': 'flag',
    });
    const done = helpOrVersion(invocation, command.usage, options);
    if (done !== undefined) return done;
    const service = options.value('s');
    if (service !== undefined && !services.includes(service)) {
      stdout.line(`Invalid service: ${service}`);
      return 1;
    }
    const found = (await client.get(
      path('services', 'slpnodes', ...(service === undefined ? [] : [service])),
    )) as Record<string, Record<string, string>>;
    const devices = Object.entries(found);
    if (devices.length === 0) stdout.line('No responses');
    for (const [name, attributes] of devices) {
      if (options.flag('z')) {
        const own = Object.entries(attributes).map(([attribute, value]) => `\t${attribute}=${value}\n`);
        await stdout.write(`${name}:\n${own.join('')}\n`);
      } else {
        const { hwtype = '', mtm = '', serial = '', ip = '' } = attributes;
        await stdout.line([hwtype, mtm, serial, ip, name].map((cell) => cell || 'N/A').join('  '));
      }
    }
    return 0;
  },
};
