import { asksHelp } from './nodes/range-words.ts';
import type { CliCommand } from './invocation.ts';
import { errorLine } from './lines.ts';

/** A familiar command for which muster has no work: it explains itself, and fails. */
export const withoutWork = (usage: string, why: string): CliCommand => ({
  usage: `${usage}\n\n${why}`,
  async run({ argv, stdout, stderr }) {
    if (asksHelp(argv[0])) {
      await stdout.line(`${usage}\n\n${why}`);
      return 0;
    }
    await stderr.line(errorLine(why));
    return 1;
  },
});
