import { join } from 'node:path';
import { home } from '../../core/home.ts';
import { told } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { asksHelp } from '../nodes/range-words.ts';

const usage = `Usage: muster clustershell > /etc/clustershell/groups.conf.d/muster.conf

Prints a source of groups for ClusterShell, so that clush -w @muster:rack1 and nodeset -f @muster:rack1 use muster's groups; with
"default: muster" in groups.conf it is clush -w @rack1.`;

export const command: CliCommand = {
  usage,
  async run({ argv, stdout }) {
    if (argv.some(asksHelp)) return told({ stdout }, usage);
    const muster = join(home, 'bin/muster');
    return told(
      { stdout },
      [
        '[muster]',
        `map: ${muster} nodels "$GROUP"`,
        `all: ${muster} nodels all`,
        `list: ${muster} groups`,
        `reverse: ${muster} groups "$NODE"`,
      ].join('\n'),
    );
  },
};
