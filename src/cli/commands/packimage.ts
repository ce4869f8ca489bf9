import { isDefined, workOnImage } from '../images.ts';
import { usageError } from '../familiar.ts';
import { parseOptions } from '../options.ts';
import { withHelp } from '../with-help.ts';

const usage = `Usage: packimage IMAGE [-m squashfs|cpio] [-c zstd|xz|gzip|lz4|pigz] [--nosyncfiles]

  Makes what nodes fetch of an image.`;

export const command = withHelp(usage, async (invocation) => {
  const options = parseOptions(
    invocation.argv,
    { 'm|method': 'value', 'c|compress': 'value', nosyncfiles: 'flag', V: 'flag' },
    { passUnknown: true },
  );
  const [image] = options.operands;
  if (image === undefined) return usageError(invocation, usage, 0);
  if (!(await isDefined(invocation, image))) return 1;
  const [method, compress] = [options.value('m'), options.value('c')];
  return workOnImage(invocation, image, 'pack', [
    ...(method === undefined ? [] : [{ method }]),
    ...(compress === undefined ? [] : [{ compress }]),
    ...(options.flag('nosyncfiles') ? [{ nosyncfiles: '' }] : []),
  ]);
});
