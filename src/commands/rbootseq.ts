import type { RangeArgs } from './command.ts';
import { onHardware, perNode } from './per-node.ts';

export interface RbootseqArgs extends RangeArgs {
  /** What comes first; absent: only reads. */
  readonly order?: readonly string[];
}

export const rbootseq = perNode({
  ...onHardware('rbootseq', 'bootSequence', async (sequence, { order }: RbootseqArgs, { signal }) => {
    if (order) await sequence.set(order, signal);
    return { bootorder: (await sequence.get(signal)).join(',') };
  }),
  outlivesClient: ({ order }) => order !== undefined,
});
