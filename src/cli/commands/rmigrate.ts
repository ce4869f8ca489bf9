import { path } from '../client.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';

export const command = nodeCommand({
  usage: `Usage: rmigrate NODERANGE TARGET

  Moves virtual machines to another hypervisor, as they run if they do.`,
  run(call) {
    const [target] = call.words.filter((word) => !word.startsWith('-'));
    const lines = (value: unknown): string[] => [(value as { vmmigrate?: string }).vmmigrate ?? ''].filter(Boolean);
    const request = {
      method: 'POST',
      at: path('nodes', call.range, 'vmmigrate'),
      body: target === undefined ? {} : { target },
    } as const;
    return work(call, request, { lines });
  },
});
