import type { CliCommand, Invocation } from './invocation.ts';
import { referenceVersion } from './lines.ts';
import { asksHelp, asksVersion } from './nodes/range-words.ts';

/** A command whose help and version are asked for by its first word. */
export const withHelp = (usage: string, run: (invocation: Invocation) => Promise<number>): CliCommand => ({
  usage,
  run(invocation) {
    const [first] = invocation.argv;
    if (asksHelp(first)) invocation.stdout.line(usage);
    else if (asksVersion(first)) invocation.stdout.line(`Version ${referenceVersion}`);
    else return run(invocation);
    return Promise.resolve(0);
  },
});
