import { path } from '../client.ts';
import { usageError } from '../familiar.ts';
import { withHelp } from '../with-help.ts';

const usage = `Usage: lsimage [IMAGE]

  What is built and packed of an image; without a name the images there are.`;

export const command = withHelp(usage, async (invocation) => {
  const { argv, client, stdout } = invocation;
  if (argv.some((word) => word.startsWith('-'))) return usageError(invocation, usage);
  const [image] = argv;
  if (image === undefined) for (const name of (await client.get('/osimages')) as string[]) await stdout.line(name);
  else stdout.line(JSON.stringify(await client.get(path('osimages', image, 'instance')), null, 2));
  return 0;
});
