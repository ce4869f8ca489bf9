import type { CliCommand } from '../invocation.ts';
import { nodeCommand, refuseForEach } from './node-command.ts';

/** A familiar command that no kind of hardware here has: it says so for each node, as it does elsewhere for hardware without it. */
export const notOffered = (usage: string): CliCommand =>
  nodeCommand({
    usage: `${usage}\n\nmuster has no hardware that can do this.`,
    run: (call) =>
      refuseForEach(call, () => ({
        error: 'Unable to identify plugin for this command, check relevant tables: nodehm.mgt',
      })),
  });
