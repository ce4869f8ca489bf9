import { withHelp } from '../with-help.ts';

export const command = withHelp('Usage: nodediscoverstatus', async ({ client, stdout }) => {
  const { ranges } = (await client.get('/discovery')) as { ranges: readonly { noderange: string }[] };
  stdout.line(`Sequential Discovery is ${ranges.length > 0 ? 'started' : 'stopped'}.`);
  stdout.line('Profile Discovery is stopped.');
  stdout.line('z/VM Discovery is stopped.');
  return 0;
});
