import type { NodeValue } from '../core/results.ts';
import type { RangeArgs } from './command.ts';
import { onHardware, perNode } from './per-node.ts';

export interface ReventlogArgs extends RangeArgs {
  readonly clear: boolean;
}

export const reventlog = perNode({
  ...onHardware('reventlog', 'eventLog', async (log, { clear }: ReventlogArgs, { signal }): Promise<NodeValue> => {
    if (!clear) return { eventlog: await log.read(signal) };
    await log.clear(signal);
    return {};
  }),
  outlivesClient: ({ clear }) => clear,
});
