import { Refused } from '../client-errors.ts';
import { refusalLines } from '../lines.ts';
import { namesIn } from '../nodes/confirm.ts';
import { nodeCommand } from '../nodes/node-command.ts';

export const command = nodeCommand({
  usage: 'Usage: rcons NODE\n\nmuster has no consoles yet.',
  async run({ invocation: { client, stdout }, range }) {
    try {
      await namesIn(client, range);
      stdout.line('Error: muster has no consoles yet.');
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      for (const line of refusalLines(error, client.server)) stdout.line(line);
    }
    return 1;
  },
});
