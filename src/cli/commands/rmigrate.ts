import { machineOptions } from '../../core/machine-options.ts';
import { path } from '../client.ts';
import { optionBody, optionHelp, optionTable, optionUsage } from '../command-options.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';
import { parseOptions } from '../options.ts';

const options = machineOptions.rmigrate;

export const command = nodeCommand({
  usage: `Usage: rmigrate NODERANGE ${optionUsage(options)}

  Moves virtual machines to another hypervisor, as they run if they do.
${optionHelp(options)}`,
  run(call) {
    const lines = (value: unknown): string[] => [(value as { vmmigrate?: string }).vmmigrate ?? ''].filter(Boolean);
    const body = optionBody(options, parseOptions(call.words, optionTable(options)));
    return work(call, { method: 'POST', at: path('nodes', call.range, 'vmmigrate'), body }, { lines });
  },
});
