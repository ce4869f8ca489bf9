import { path } from '../client.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';

const noEntries = 'no SEL entries';

export const command = nodeCommand({
  usage: `Usage: reventlog NODERANGE [all | NUMBER | clear]

  all      every entry, the default
  NUMBER   only so many of the latest
  clear    empty the log`,
  run(call) {
    const { range, words } = call;
    const [word = 'all'] = words;
    const at = path('nodes', range, 'eventlog');
    if (word === 'clear')
      return work(
        call,
        { method: 'DELETE', at },
        { lines: () => ['SEL cleared'], question: 'Clear the event logs of' },
      );
    const most = word === 'all' ? Number.POSITIVE_INFINITY : /^\d+$/.test(word) ? Number(word) : undefined;
    // As scripts know it: a word that means nothing does nothing.
    if (most === undefined) return Promise.resolve(0);
    const lines = (value: unknown): string[] => {
      const { eventlog } = value as { eventlog: readonly string[] };
      return eventlog.length > 0 ? eventlog.slice(0, most) : [noEntries];
    };
    return work(call, { method: 'GET', at }, { lines });
  },
});
