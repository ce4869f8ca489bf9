import { isDefined, workOnImage } from '../images.ts';
import { usageError } from '../familiar.ts';
import { withHelp } from '../with-help.ts';

const usage = `Usage: liteimg IMAGE

  Makes what nodes fetch of a statelite image, as packimage does.`;

export const command = withHelp(usage, async (invocation) => {
  const image = invocation.argv.find((word) => !word.startsWith('-'));
  if (image === undefined) return usageError(invocation, usage, 0);
  return (await isDefined(invocation, image)) ? workOnImage(invocation, image, 'pack') : 1;
});
