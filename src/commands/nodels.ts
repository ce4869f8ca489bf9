import { query, selectNodes } from './command.ts';

export const nodels = query<{ readonly range: string }>({
  name: 'nodels',
  select: selectNodes,
  run: (_snapshot, _args, { selection }) => ({ shape: 'list', items: selection.objects ?? [] }),
});
