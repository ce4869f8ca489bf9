import { namesIn } from '../nodes/confirm.ts';
import { usageError } from '../familiar.ts';
import { withHelp } from '../with-help.ts';

const usage = `Usage: nodediscoverstart noderange=NODERANGE

  Machines that nobody knows become the nodes of a range, in the order of their names.`;

export const command = withHelp(usage, async (invocation) => {
  const { argv, client, stdout } = invocation;
  const noderange = argv.find((word) => word.startsWith('noderange='))?.slice('noderange='.length);
  if (!noderange) return usageError(invocation, usage);
  await client.call('POST', '/discovery', { body: { noderange } });
  stdout.line('Sequential Discovery: Started:');
  stdout.line(`    Number of free node names: ${(await namesIn(client, noderange)).length}`);
  return 0;
});
