import { Type } from 'typebox';
import { withoutSecrets } from '../objects/secret-names.ts';
import { onHardware, perNode } from './per-node.ts';

const args = {
  order: Type.Optional(Type.Array(Type.String(), { description: 'what comes first; without it the order is read' })),
};

export const rbootseq = perNode({
  ...onHardware('rbootseq', 'bootSequence', args, async (sequence, { order }, { signal }) => {
    if (order) await sequence.set(order, signal);
    return { bootorder: (await sequence.get(signal)).join(',') };
  }),
  line: ({ order }) => (order === undefined ? [] : [withoutSecrets(order.join(','))]),
  outlivesClient: ({ order }) => order !== undefined,
});
