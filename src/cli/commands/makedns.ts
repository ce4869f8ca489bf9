import { act, warn } from '../acts.ts';
import { path } from '../client.ts';
import { helpAndVersion } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
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
    if (options.flag('help') || options.unknown.length > 0) return stdout.line(command.usage), 0;
    if (options.flag('version')) return stdout.line(`Version ${referenceVersion}`), 0;
    const [range] = options.operands;
    const at = range === undefined ? '/services/dns' : path('nodes', range, 'dns');
    warn(invocation, await act(invocation, options.flag('d') && range !== undefined ? 'DELETE' : 'POST', at));
    if (options.flag('n') && range !== undefined) await act(invocation, 'POST', '/services/dns');
    stdout.line('DNS setup is completed');
    return 0;
  },
};
