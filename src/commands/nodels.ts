import { knownNodes } from '../objects/cluster.ts';
import { query } from './command.ts';

export const nodels = query<{ readonly range: string }>({
  name: 'nodels',
  select(snapshot, { range }, { ranges }) {
    const nodes = knownNodes(snapshot, range, ranges);
    return { objects: nodes, nodes };
  },
  run: (_snapshot, _args, { selection }) => ({ shape: 'list', items: selection.objects ?? [] }),
});
