import { usageError } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { referenceVersion } from '../lines.ts';
import { parseOptions } from '../options.ts';

export const command: CliCommand = {
  usage: `Usage: lsxcatd -v | -d | -a | -t
       lsxcatd -h | --help

Tells of the server.

  -v   the version whose commands these are
  -d   the kind of its database
  -a   both
  -t   whether this is a service node, which says nothing here`,
  run(invocation) {
    const { argv, stdout } = invocation;
    const table = { 'help|h|?': 'flag', 'version|v': 'flag', d: 'flag', a: 'flag', t: 'flag' } as const;
    const { flag, unknown } = parseOptions(argv, table);
    if (flag('help')) return Promise.resolve(usageError(invocation, command.usage, 0));
    const asked = flag('version') || flag('d') || flag('a') || flag('t');
    if (!asked || unknown.length > 0) return Promise.resolve(usageError(invocation, command.usage));
    if (flag('version') || flag('a')) stdout.line(`Version ${referenceVersion}`);
    if (flag('d') || flag('a')) stdout.line('dbengine=SQLite');
    return Promise.resolve(0);
  },
};
