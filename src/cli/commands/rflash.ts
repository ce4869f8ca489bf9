import { errorLine } from '../lines.ts';
import { namesIn } from '../nodes/confirm.ts';
import { nodeCommand, refuseForEach } from '../nodes/node-command.ts';

export const command = nodeCommand({
  usage: 'Usage: rflash NODERANGE FILE\n\nmuster does not write firmware.',
  async run(call) {
    const { client, stderr } = call.invocation;
    if (call.words.length > 0) return refuseForEach(call, () => ({ error: 'muster does not write firmware.' }));
    await namesIn(client, call.range);
    stderr.line(errorLine('No option or hpm file is provided.', client.server));
    return 1;
  },
});
