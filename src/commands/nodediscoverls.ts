import { freeNodes, openRanges } from '../services/boot/discovery/ranges.ts';
import type { Machine } from '../services/boot/discovery/machine.ts';
import type { Unmatched } from '../services/boot/discovery/unmatched.ts';
import { everyNode, noArguments, noLine, query } from './command.ts';

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

/** All of them were told the same. */
const described = ({ state: _state, ...machine }: Machine) => machine;
