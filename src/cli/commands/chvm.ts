import { machineOptions } from '../../core/machine-options.ts';
import { path } from '../client.ts';
import { optionBody, optionHelp, optionTable, optionUsage } from '../command-options.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';
import { parseOptions } from '../options.ts';

const options = machineOptions.chvm;

export const command = nodeCommand({
  usage: `Usage: chvm NODERANGE ${optionUsage(options)}

  Changes the virtual machines of nodes, as they run if they do.
${optionHelp(options)}`,
  run(call) {
    const given = parseOptions(call.words, { ...optionTable(options), d: 'value' });
    const request = { method: 'PUT', at: path('nodes', call.range, 'vm'), body: optionBody(options, given) } as const;
    return work(call, request, { lines: () => [] });
  },
});
