import { resolve } from 'node:path';
import { usageError } from '../familiar.ts';
import { longWork } from '../long-work.ts';
import { parseOptions } from '../options.ts';
import { withHelp } from '../with-help.ts';

const usage = `Usage: imgimport FILE [-p PROFILE] [-n NAME]

  Makes an image from a file that imgexport has written.`;

export const command = withHelp(usage, async (invocation) => {
  const options = parseOptions(invocation.argv, {
    'p|profile': 'value',
    'n|name': 'value',
    'f|postscripts': 'value',
    V: 'flag',
  });
  const [given] = options.operands;
  if (given === undefined) return usageError(invocation, usage, 0);
  const file = resolve(given);
  const [profile, name] = [options.value('p'), options.value('n')];
  const params = [...(profile === undefined ? [] : [{ profile }]), ...(name === undefined ? [] : [{ name }])];
  const body = { file, ...(params.length > 0 ? { params } : {}) };
  const ok = await longWork(invocation, '/osimages', body, (sentences) =>
    sentences.some((sentence) => /no file|cannot be read|outside/i.test(sentence))
      ? [`Cannot find ${file}`]
      : sentences,
  );
  return ok ? 0 : 1;
});
