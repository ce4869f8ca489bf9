import { act, warn } from '../acts.ts';
import { path } from '../client.ts';
import { helpAndVersion, told } from '../familiar.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import { referenceVersion } from '../lines.ts';
import { parseOptions } from '../options.ts';

export const command: CliCommand = {
  usage: `Usage: makedns [NODERANGE] [-n] [-d] [-V]

  Puts the names of nodes into DNS; without a range all of the hosts file.
  -n   set the service up
  -d   take the names out`,
  async run(invocation) {
    const { stdout } = invocation;
    const options = parseOptions(invocation.argv, {
      ...helpAndVersion,
      'n|new': 'flag',
      'd|delete': 'flag',
      'e|external': 'flag',
      'V|verbose': 'flag',
    });
    if (options.flag('help') || options.unknown.length > 0) return told({ stdout }, command.usage);
    if (options.flag('version')) return told({ stdout }, `Version ${referenceVersion}`);
    const [range] = options.operands;
    const at = range === undefined ? '/services/dns' : path('nodes', range, 'dns');
    warn(invocation, await act(invocation, options.flag('d') && range !== undefined ? 'DELETE' : 'POST', at));
    if (options.flag('n') && range !== undefined) await act(invocation, 'POST', '/services/dns');
    for (const name of await handledNames(invocation, range ?? 'all'))
      await stdout.line(`Handling ${name} in /etc/hosts.`);
    for (const line of steps) stdout.line(line);
    return 0;
  },
};

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
