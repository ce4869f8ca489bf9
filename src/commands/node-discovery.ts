import { Type } from 'typebox';
import { closeRanges, freeNodes, type Machine, openRange, openRanges, type Unmatched } from '../boot/index.ts';
import { emptyRange } from '../objects/select.ts';
import { change, everyNode, noArguments, noLine, nothing, query, selectNodes } from './command.ts';

/** The ranges that are open, and the machines that have said who they are and are no node. */
export const nodediscoverls = query({
  name: 'nodediscoverls',
  args: noArguments,
  uses: ['machines'],
  line: noLine,
  select: () => everyNode,
  run: (snapshot, _args, { machines }) => ({
    shape: 'value',
    value: {
      ranges: openRanges(snapshot).map((range) => ({ ...range, free: freeNodes(snapshot, range.noderange).length })),
      unmatched: machines.unmatched.map(shown),
    },
  }),
});

const shown = ({ machine, address, reason, first, last, times }: Unmatched) => ({
  reason,
  address,
  first: new Date(first).toISOString(),
  last: new Date(last).toISOString(),
  times,
  ...described(machine),
});

/** All of them got the same answer. */
const described = ({ state: _state, ...machine }: Machine) => machine;

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
