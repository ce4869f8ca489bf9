import { objectTypes } from '../objects/types.ts';
import { noArguments, noLine, noSelection, query } from './command.ts';

/** It tells nothing of the cluster, so whoever is logged in may know it. */
export const lstypes = query({
  name: 'lstypes',
  free: true,
  args: noArguments,
  line: noLine,
  select: () => noSelection,
  run: () => ({ shape: 'list', items: [...objectTypes.keys()].sort() }),
});
