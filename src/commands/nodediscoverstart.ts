import { Type } from 'typebox';
import { emptyRange } from '../objects/select.ts';
import { freeNodes, openRange } from '../services/boot/discovery/ranges.ts';
import { change, selectNodes } from './command.ts';

/** Opens a range of nodes: machines that boot and that nobody knows become these, one after the other. */
export const nodediscoverstart = change({
  name: 'nodediscoverstart',
  args: Type.Object({ noderange: Type.String({ minLength: 1 }) }),
  line: ({ noderange }) => [`noderange=${noderange}`],
  select: (snapshot, { noderange }, services) => selectNodes(snapshot, { range: noderange }, services),
  plan(draft, { noderange }, { caller, selection: { nodes = [] }, ranges }) {
    if (nodes.length === 0) throw emptyRange(noderange);
    openRange(draft, noderange, caller.user, new Date());
    const free = freeNodes(draft.base, noderange, ranges).length;
    return { shape: 'none', messages: [`${free} of ${nodes.length} nodes wait for a machine.`] };
  },
});
