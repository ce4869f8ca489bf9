import { errorLine } from '../lines.ts';
import { withHelp } from '../with-help.ts';

export const command = withHelp('Usage: nodediscoverstop', async ({ client, stdout, stderr }) => {
  const { ranges } = (await client.get('/discovery')) as { ranges: readonly { noderange: string }[] };
  if (ranges.length === 0) {
    for (const kind of ['Sequential', 'Profile', 'z/VM'])
      stderr.line(errorLine(`${kind} Discovery is stopped.`, client.server));
    return 1;
  }
  await client.call('DELETE', '/discovery');
  stdout.line('Sequential Discovery: Stopped.');
  return 0;
});
