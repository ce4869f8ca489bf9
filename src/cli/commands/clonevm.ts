import { machineOptions } from '../../core/machine-options.ts';
import { path } from '../client.ts';
import { optionBody, optionHelp, optionTable } from '../command-options.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';
import { parseOptions } from '../options.ts';
import type { CliCommand } from '../invocation.ts';

const options = machineOptions.clonevm;

const described = nodeCommand({
  usage: `Usage: clonevm NODERANGE -t MASTER | -b MASTER [-d] [-f]

  Makes a master of a machine, or machines from a master.
${optionHelp(options)}`,
  run(call) {
    const body = optionBody(options, parseOptions(call.words, optionTable(options)));
    const lines = (value: unknown): string[] => [(value as { vmclone?: string }).vmclone ?? ''].filter(Boolean);
    return work(call, { method: 'POST', at: path('nodes', call.range, 'vmclone'), body }, { lines });
  },
});

/** Without a word it is silent. */
export const command: CliCommand = {
  usage: described.usage,
  run: (invocation) => (invocation.argv.length === 0 ? Promise.resolve(0) : described.run(invocation)),
};
