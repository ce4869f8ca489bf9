import { usageError } from '../familiar.ts';
import { withHelp } from '../with-help.ts';

const usage = `Usage: nodediscoverls [-l]

  Machines that have booted and are no node, and why.
  -l   all they said of themselves`;

interface Discovery {
  readonly unmatched: readonly Readonly<Record<string, string | undefined>>[];
}

export const command = withHelp(usage, async (invocation) => {
  const { argv, client, stdout } = invocation;
  const long = argv.includes('-l');
  if (argv.some((word) => word !== '-l' && word !== '-V')) return usageError(invocation, usage);
  const { unmatched } = (await client.get('/discovery')) as Discovery;
  stdout.line(`Discovered ${unmatched.length} node.`);
  for (const machine of unmatched)
    await stdout.line(
      long
        ? JSON.stringify(machine, null, 2)
        : ['mac', 'uuid', 'serial', 'model', 'reason'].map((name) => machine[name] ?? '-').join('  '),
    );
  return 0;
});
