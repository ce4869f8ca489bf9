import { path } from '../client.ts';
import { isDefined } from '../images.ts';
import { usageError } from '../familiar.ts';
import { withHelp } from '../with-help.ts';

const usage = `Usage: rmimage IMAGE [--xcatdef]

  Removes what genimage and packimage have made of an image.
  --xcatdef   its definition too`;

export const command = withHelp(usage, async (invocation) => {
  const { argv, client, stdout } = invocation;
  const image = argv.find((word) => !word.startsWith('-'));
  if (image === undefined) return usageError(invocation, usage, 0);
  if (!(await isDefined(invocation, image, `Invalid image name ${image}`))) return 1;
  await client.call('DELETE', path('osimages', image, 'instance'));
  if (argv.includes('--xcatdef')) await client.call('DELETE', path('osimages', image));
  stdout.line(`Image ${image} has been removed.`);
  return 0;
});
