import { machineOptions } from '../../core/machine-options.ts';
import { path } from '../client.ts';
import { optionBody, optionHelp, optionTable, optionUsage } from '../command-options.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';
import { parseOptions } from '../options.ts';

const options = machineOptions.mkvm;

export const command = nodeCommand({
  usage: `Usage: mkvm NODERANGE ${optionUsage(options)}

  Makes the virtual machines of nodes as their attributes say.
${optionHelp(options)}`,
  run(call) {
    const given = parseOptions(call.words, { ...optionTable(options), 'm|master': 'value', 'p|petitboot': 'flag' });
    const request = { method: 'POST', at: path('nodes', call.range, 'vm'), body: optionBody(options, given) } as const;
    return work(call, request, { lines: () => [] });
  },
});
