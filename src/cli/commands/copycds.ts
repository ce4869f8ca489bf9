import { resolve } from 'node:path';
import { longWork } from '../long-work.ts';
import type { CliCommand } from '../invocation.ts';
import { asksHelp } from '../nodes/range-words.ts';
import { told, usageError } from '../familiar.ts';
import { parseOptions } from '../options.ts';

const usage = `Usage: copycds [-n NAME] [-a ARCH] [-p PATH] [-i] [-o] [-w] FILE...

  Copies install media to the management node and defines their images.
  -n, -a   what the medium is, where it does not tell
  -p       where the tree is to be
  -i       only say what the medium is
  -o       define no images
  -w       leave a tree that exists as it is`;

export const command: CliCommand = {
  usage,
  async run(invocation) {
    const { argv, stdout } = invocation;
    if (asksHelp(argv[0])) return told({ stdout }, usage);
    const options = parseOptions(
      argv,
      {
        'n|name|osver': 'value',
        'a|arch': 'value',
        'p|path': 'value',
        'i|inspection': 'flag',
        'o|noosimage': 'flag',
        'w|nonoverwrite': 'flag',
      },
      { passUnknown: true },
    );
    if (options.operands.length === 0) return usageError(invocation, usage);
    const params = [
      ...['n', 'a', 'p'].flatMap((name) => {
        const value = options.value(name);
        return value === undefined ? [] : [{ [`-${name}`]: value }];
      }),
      ...['i', 'o', 'w'].flatMap((name) => (options.flag(name) ? [{ [`-${name}`]: '' }] : [])),
    ];
    for (const file of options.operands) {
      const iso = resolve(file);
      const missing = `The management server was unable to find/read ${file.startsWith('/') ? file : `${process.cwd()}/${file}`}. Ensure that file exists on the server at the specified location.`;
      const ok = await longWork(
        invocation,
        '/osimages',
        { iso, ...(params.length > 0 ? { params } : {}) },
        (sentences) =>
          sentences.some((sentence) =>
            /outside|no file|no such file|does not exist|cannot be (read|opened)/i.test(sentence),
          )
            ? [missing]
            : sentences,
      );
      if (!ok) return 1;
    }
    return 0;
  },
};
