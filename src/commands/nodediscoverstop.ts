import { Type } from 'typebox';
import { closeRanges } from '../services/boot/discovery/ranges.ts';
import { change, nothing } from './command.ts';

/** Closes a range of nodes, or all that are open. */
export const nodediscoverstop = change({
  name: 'nodediscoverstop',
  args: Type.Object({ noderange: Type.Optional(Type.String()) }),
  line: ({ noderange }) => (noderange === undefined ? [] : [`noderange=${noderange}`]),
  plan(draft, { noderange }) {
    closeRanges(draft, noderange);
    return nothing;
  },
});
