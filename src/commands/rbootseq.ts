import { type NodeValue, perNode, selectNodes } from './command.ts';

export interface RbootseqArgs {
  readonly range: string;
  /** What comes first; absent: only reads. */
  readonly order?: readonly string[];
  readonly refuseEmpty?: boolean;
}

export const rbootseq = perNode<RbootseqArgs>({
  name: 'rbootseq',
  outlivesClient: ({ order }) => order !== undefined,
  select: selectNodes,
  run(snapshot, { order }, { hardware, selection, caller }, signal) {
    return hardware.each(
      snapshot,
      selection.nodes ?? [],
      {
        command: 'rbootseq',
        needs: 'bootSequence',
        user: caller.user,
        async run(sequence, _node, aborted): Promise<NodeValue> {
          if (order) await sequence.set(order, aborted);
          return { bootorder: (await sequence.get(aborted)).join(',') };
        },
      },
      signal,
    );
  },
});
