import { machineOptions } from '../../core/machine-options.ts';
import { path } from '../client.ts';
import { optionBody, optionHelp, optionTable, optionUsage } from '../command-options.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';
import { parseOptions } from '../options.ts';

const options = machineOptions.rmvm;

export const command = nodeCommand({
  usage: `Usage: rmvm NODERANGE ${optionUsage(options)}

  Removes the virtual machines of nodes; the nodes stay.
${optionHelp(options)}`,
  run(call) {
    const body = optionBody(options, parseOptions(call.words, optionTable(options)));
    const request = { method: 'DELETE', at: path('nodes', call.range, 'vm'), body } as const;
    return work(call, request, { lines: () => [], question: 'Remove the virtual machines of' });
  },
});
