import { Type } from 'typebox';
import { nodeArguments, noLine, query, selectNodes } from './command.ts';

export const nodels = query({
  name: 'nodels',
  showsPast: () => true,
  args: Type.Object(nodeArguments),
  line: noLine,
  select: selectNodes,
  run: (_snapshot, _args, { selection }) => ({ shape: 'list', items: selection.objects ?? [] }),
});
