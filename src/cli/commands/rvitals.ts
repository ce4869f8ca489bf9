import { path } from '../client.ts';
import { labelled, nodeCommand, refuseForEach, work } from '../nodes/node-command.ts';

const kinds = ['all', 'temp', 'voltage', 'wattage', 'fanspeed', 'power', 'leds', 'chassis', 'energy', 'altitude'];

/** The reference system leaves out that there was none. */
const lines = (value: unknown): string[] =>
  labelled(value).map((line) => line.replace(/^(Last Power Event: )none$/, '$1'));

export const command = nodeCommand({
  usage: `Usage: rvitals NODERANGE [KIND]...

  all (the default), ${kinds.slice(1).join(', ')}; several words, or one with commas`,
  run(call) {
    const { range, words } = call;
    const asked = words.filter((word) => !word.startsWith('-')).flatMap((word) => word.split(','));
    const unknown = asked.filter((word) => !kinds.includes(word));
    if (unknown.length > 0)
      return refuseForEach(call, () => ({ error: `Unrecognized rvitals arguments ${unknown.join(' ')}` }));
    const named = asked.length === 0 || asked.includes('all') ? [] : [asked.join(',')];
    return work(call, { method: 'GET', at: path('nodes', range, 'vitals', ...named) }, { lines });
  },
});
