import { path } from '../client.ts';
import { Refused } from '../client-errors.ts';
import { told } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { errorLine, referenceVersion } from '../lines.ts';
import { asksHelp, asksVersion } from '../nodes/range-words.ts';
import { tellUnknown } from '../nodes/unknown-nodes.ts';

const usage = `Usage: pping NODERANGE

  Whether nodes answer.`;

export const command: CliCommand = {
  usage,
  async run(invocation) {
    const { argv, stdout, stderr, client } = invocation;
    if (asksHelp(argv[0])) return told({ stdout }, usage);
    if (asksVersion(argv[0])) return told({ stdout }, `Version ${referenceVersion}`);
    if (argv.includes('-i') || argv.includes('--interface')) {
      stderr.line(errorLine('muster asks nodes at their own address only; leave -i out.'));
      return 1;
    }
    const range = argv.find((word) => !word.startsWith('-'));
    if (range === undefined) return told({ stdout }, usage, 1);
    try {
      const states = (await client.get(path('nodes', range, 'nodestat'))) as Record<string, { nodestat: string }>;
      for (const [node, { nodestat }] of Object.entries(states))
        await stdout.line(`${node}: ${nodestat.startsWith('noping') ? 'noping' : 'ping'}`);
      return 0;
    } catch (error) {
      if (error instanceof Refused && error.isEmpty) return 0;
      return tellUnknown(error, invocation, 1);
    }
  },
};
