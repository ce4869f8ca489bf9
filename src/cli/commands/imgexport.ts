import { isDefined, workOnImage } from '../images.ts';
import { usageError } from '../familiar.ts';
import { withHelp } from '../with-help.ts';

const usage = `Usage: imgexport IMAGE [DESTINATION]

  Writes an image into one file on the management node.`;

export const command = withHelp(usage, async (invocation) => {
  const [image, destination] = invocation.argv.filter((word) => !word.startsWith('-'));
  if (image === undefined) return usageError(invocation, usage, 0);
  invocation.stdout.line(`Exporting ${image} to ${destination ?? process.cwd()}...`);
  if (!(await isDefined(invocation, image))) return 1;
  return workOnImage(invocation, image, 'export', destination === undefined ? [] : [{ destination }]);
});
