import { everyNode, noArguments, noLine, query } from './command.ts';

/** What the service counts about itself, for Prometheus. It tells of commands and counts of nodes, not of nodes. */
export const metrics = query({
  name: 'metrics',
  args: noArguments,
  uses: ['metrics'],
  line: noLine,
  select: () => everyNode,
  run: (_snapshot, _args, { metrics: collected }) => ({
    shape: 'text',
    type: 'text/plain; version=0.0.4; charset=utf-8',
    text: collected.text(),
  }),
});
