import { path } from '../client.ts';
import { told } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { referenceVersion } from '../lines.ts';
import { workOnNodes } from './node-work.ts';
import { takeOwnOptions } from './own-options.ts';
import { asksHelp, asksVersion } from './range-words.ts';
import { tellUnknown } from './unknown-nodes.ts';

/** `NAME [options] FILE... NODERANGE:PLACE`: copies from the management node to nodes. */
export function copyCommand(name: string): CliCommand {
  const usage = `Usage: ${name} FILE... NODERANGE:PLACE

  Copies files and directories of the management node to nodes.`;
  return {
    usage,
    async run(invocation) {
      const { stdout } = invocation;
      const { own, rest } = takeOwnOptions(invocation.argv);
      if (rest.some(asksHelp)) return told({ stdout }, usage);
      if (asksVersion(rest[0])) return told({ stdout }, `Version ${referenceVersion}`);
      const operands = rest.filter((word) => !word.startsWith('-'));
      const to = operands.pop() ?? '';
      const colon = to.indexOf(':');
      if (operands.length === 0 || colon < 1) return told({ stdout }, usage, 1);
      const [range, target] = [to.slice(0, colon), to.slice(colon + 1) || '.'];
      const request = {
        method: 'POST',
        at: path('nodes', range, 'nodecopy'),
        body: { src: operands, target },
      } as const;
      try {
        await workOnNodes(
          invocation,
          request,
          {
            lines: () => ['done'],
            // It is done with the node either way; why it came to nothing is told apart.
            failure: ({ node, error }) => ({ stdout: [`${node}: done`], stderr: [`${node}: ${error}`] }),
          },
          own,
        );
        return 0;
      } catch (error) {
        return tellUnknown(error, invocation, 0);
      }
    },
  };
}
