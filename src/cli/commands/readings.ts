import { suggestion } from '../../core/nearest.ts';
import { path } from '../client.ts';
import { UsageError } from '../errors.ts';
import { errorLine, ignoredLine } from '../lines.ts';
import { labelled, type NodeCall, nodeCommand, refuseByKind, refuseForEach, work } from '../nodes/node-command.ts';
import { namesIn } from '../nodes/work.ts';
import { flag } from '../options.ts';

const sensors = [
  'all',
  'temp',
  'voltage',
  'wattage',
  'fanspeed',
  'power',
  'leds',
  'chassis',
  'energy',
  'altitude',
  'current',
  'other',
];

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

const parts = [
  'all',
  'model',
  'serial',
  'asset',
  'vpd',
  'deviceid',
  'guid',
  'uuid',
  'firm',
  'dimm',
  'cpu',
  'gpu',
  'pci',
  'mac',
  'mprom',
  'misc',
  'hw',
];

/** What a machine lacks is not shown here. */
const nothingThere = /^No \w+ information found in system$/;

export const rinv = nodeCommand({
  usage: `Usage: rinv NODERANGE [KIND]

  all (the default), ${parts.slice(1).join(', ')}; the first counts`,
  options: { t: flag('accepted for scripts with all and vpd; it stores nothing') },
  words: Number.POSITIVE_INFINITY,
  async run(call) {
    const { invocation, range, words } = call;
    const [kind = 'all', ...others] = words;
    if (!parts.includes(kind)) {
      // The answer also says who the server is, which the line names.
      await namesIn(invocation.client, range);
      invocation.stderr.line(errorLine(rinv.usage, invocation.client.server));
      return 1;
    }
    if (call.flag('t') && kind !== 'all' && kind !== 'vpd')
      return refuseByKind(call, (mgt) => `option '-t' can only work with 'all' or 'vpd' when using mgt=${mgt}.`);
    if (others.length > 0)
      invocation.stderr.line(
        ignoredLine(others.join(' '), `rinv shows one kind, here ${kind}. Call rinv once for each, or write all.`),
      );
    const at = path('nodes', range, 'inventory', ...(kind === 'all' ? [] : [kind]));
    const lines = (value: unknown): string[] => labelled(value).filter((line) => !nothingThere.test(line));
    return work(call, { method: 'GET', at }, { lines });
  },
});

/** As scripts know it, a word that means nothing does nothing, with status 0; that nothing was done is said. */
function dropped({ invocation: { stderr } }: NodeCall, word: string): Promise<number> {
  const meant = suggestion(word, ['all', 'clear']);
  stderr.line(
    ignoredLine(
      `"${word}"`,
      `it is not a word of reventlog, so nothing was done.${meant} Write all, a number, or clear.`,
    ),
  );
  return Promise.resolve(0);
}

const noEntries = 'no SEL entries';

export const reventlog = nodeCommand({
  usage: `Usage: reventlog NODERANGE [all | NUMBER] [-s]
       reventlog NODERANGE clear

  all      every entry, the default
  NUMBER   only this many entries, the newest; muster asks the BMC for no more, where it can
  clear    empty the log`,
  options: { s: flag('the newest entries first') },
  words: 1,
  run(call) {
    const { range, words } = call;
    const [word = 'all'] = words;
    const at = path('nodes', range, 'eventlog');
    if (word.startsWith('resolved='))
      throw new UsageError('resolved= is not supported here: muster marks no entries of event logs.');
    if (word === 'clear' && call.flag('s')) throw new UsageError('-s sorts entries that are shown; clear shows none.');
    if (word === 'clear')
      return work(
        call,
        { method: 'DELETE', at },
        { lines: () => ['SEL cleared'], question: 'Clear the event logs of' },
      );
    if (word !== 'all' && !/^\d+$/.test(word)) return dropped(call, word);
    if (Number(word) === 0) throw new UsageError('0 entries are none; give a number from 1 on, or all.');
    const lines = (value: unknown): readonly string[] => {
      const { eventlog } = value as { eventlog: readonly string[] };
      const sorted = call.flag('s') ? eventlog.toReversed() : eventlog;
      return sorted.length > 0 ? sorted : [noEntries];
    };
    const query = { newest: word === 'all' ? undefined : String(Number(word)) };
    return work(call, { method: 'GET', at, query }, { lines });
  },
});
