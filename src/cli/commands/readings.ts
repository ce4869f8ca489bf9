import { path } from '../client.ts';
import { errorLine } from '../lines.ts';
import { labelled, nodeCommand, refuseByKind, refuseForEach, work } from '../nodes/node-command.ts';
import { namesIn } from '../nodes/work.ts';
import { flag } from '../options.ts';

const sensors = ['all', 'temp', 'voltage', 'wattage', 'fanspeed', 'power', 'leds', 'chassis', 'energy', 'altitude'];

export const rvitals = nodeCommand({
  usage: `Usage: rvitals NODERANGE [KIND]...

  all (the default), ${sensors.slice(1).join(', ')}; several words, or one with commas`,
  words: Number.POSITIVE_INFINITY,
  run(call) {
    const { range, words } = call;
    const asked = words.flatMap((word) => word.split(','));
    const unknown = asked.filter((word) => !sensors.includes(word));
    if (unknown.length > 0)
      return refuseForEach(call, () => ({ error: `Unrecognized rvitals arguments ${unknown.join(' ')}` }));
    const named = asked.length === 0 || asked.includes('all') ? [] : [asked.join(',')];
    // xCAT leaves out that there was none.
    const lines = (value: unknown): string[] =>
      labelled(value).map((line) => line.replace(/^(Last Power Event: )none$/, '$1'));
    return work(call, { method: 'GET', at: path('nodes', range, 'vitals', ...named) }, { lines });
  },
});

const parts = ['all', 'model', 'serial', 'asset', 'vpd', 'deviceid', 'guid', 'firm', 'dimm', 'mprom', 'cpu', 'mac'];

/** What a machine lacks is not shown here. */
const nothingThere = /^No \w+ information found in system$/;

export const rinv = nodeCommand({
  usage: `Usage: rinv NODERANGE [KIND]

  all (the default), ${parts.slice(1).join(', ')}; the first counts`,
  options: { t: flag('accepted for scripts with all and vpd; it stores nothing') },
  words: Number.POSITIVE_INFINITY,
  async run(call) {
    const { invocation, range, words } = call;
    const [kind = 'all'] = words;
    if (!parts.includes(kind)) {
      // The answer also says who the server is, which the line names.
      await namesIn(invocation.client, range);
      invocation.stderr.line(errorLine(rinv.usage, invocation.client.server));
      return 1;
    }
    if (call.flag('t') && kind !== 'all' && kind !== 'vpd')
      return refuseByKind(call, (mgt) => `option '-t' can only work with 'all' or 'vpd' when using mgt=${mgt}.`);
    const at = path('nodes', range, 'inventory', ...(kind === 'all' ? [] : [kind]));
    const lines = (value: unknown): string[] => labelled(value).filter((line) => !nothingThere.test(line));
    return work(call, { method: 'GET', at }, { lines });
  },
});

const noEntries = 'no SEL entries';

export const reventlog = nodeCommand({
  usage: `Usage: reventlog NODERANGE [all | NUMBER | clear]

  all      every entry, the default
  NUMBER   only this many entries, the oldest first
  clear    empty the log`,
  words: 1,
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
