import { Fault } from '../../../core/errors.ts';
import { effectiveReader } from '../../../objects/effective.ts';
import { imageOf } from '../../update/node-image.ts';
import type { NodeIndex } from '../node-index.ts';
import { planText, statelitePlan } from '../statelite/plan.ts';
import type { BootTokens } from '../tokens.ts';
import type { BootRoom } from './room.ts';

/** What a node of a statelite image keeps and where, for that node alone: `boot/statelite/NODE/TOKEN`. */
export const stateliteRoom = (nodes: NodeIndex, tokens: BootTokens): BootRoom => ({
  find([first, second, node, token, ...more], { address, server }) {
    if (first !== 'boot' || second !== 'statelite' || node === undefined || token === undefined || more.length > 0)
      return Promise.resolve(undefined);
    if (!tokens.check(node, token, address))
      throw new Fault('denied', `This is not the token of the node that has the address ${address}.`);
    const reader = effectiveReader(nodes.snapshot);
    const text = planText(statelitePlan(reader, node, imageOf(reader, node), server));
    return Promise.resolve({ kind: 'text', text, node, step: 'plan' });
  },
});
