import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { NodeValue } from '../core/results.ts';
import { inventoryKinds, kindsIn, vitalsKinds } from '../drivers/index.ts';
import { seriesKinds } from '../nodes/index.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { shownSettings } from '../objects/shown-arguments.ts';
import { checkWord, onHardware, perNode } from './per-node.ts';

const kindsArgument = { kinds: Type.Array(Type.String(), { description: 'none, or all: everything' }) };

const vitalsIn = (kinds: readonly string[]) => kindsIn('vitals', vitalsKinds, kinds);

export const rvitals = perNode({
  ...onHardware(
    'rvitals',
    'vitals',
    kindsArgument,
    (vitals, { kinds }, { signal }) => vitals.read(vitalsIn(kinds), signal),
    ({ kinds }) => void vitalsIn(kinds),
  ),
  uses: ['hardware', 'series'],
  line: ({ kinds }) => (kinds.length === 0 ? ['all'] : kinds),
  async *finish(results, { kinds }, { series }) {
    const asked = vitalsIn(kinds);
    const isWhole = asked.length === 0 || seriesKinds.every((kind) => asked.includes(kind));
    for await (const batch of results) {
      for (const result of batch) if ('value' in result) series.record(result.node, result.value, isWhole);
      yield batch;
    }
  },
});

const inventoryIn = (kinds: readonly string[]) => kindsIn('inventory', inventoryKinds, kinds);

export const rinv = perNode({
  ...onHardware(
    'rinv',
    'inventory',
    kindsArgument,
    (inventory, { kinds }, { signal }) => inventory.read(inventoryIn(kinds), signal),
    ({ kinds }) => void inventoryIn(kinds),
  ),
  line: ({ kinds }) => (kinds.length === 0 ? ['all'] : kinds),
});

const energyArguments = {
  attributes: Type.Array(Type.String(), { description: 'those to read; none, or all: everything' }),
  set: Type.Optional(Type.Object({ attribute: Type.String(), value: Type.String() })),
};

const limitValue = {
  form: /^\d{1,9}(?:\.\d{1,3})?\s*(?:%|w|watts)?$/i,
  example: 'watts such as 250, or percent such as 50%',
};
const energySettings = new Map([
  ['cappingstatus', { form: /^(?:on|off|en|dis|enabled?|disabled?)$/i, example: 'on or off' }],
  ['cappingvalue', limitValue],
  ['cappingwatt', limitValue],
]);

/** What no driver can set is refused before any is asked, so that a dry run says it too. */
function checkEnergySetting(attribute: string, value: string): void {
  checkWord(attribute, [...energySettings.keys()], 'settable energy attribute');
  const { form, example } = energySettings.get(attribute)!;
  if (!form.test(value.trim()))
    throw new Fault('invalid', `"${withoutSecrets(value)}" is not a value of ${attribute}; give ${example}.`);
}

export const renergy = perNode({
  ...onHardware(
    'renergy',
    'energy',
    energyArguments,
    async (energy, { attributes, set }, { signal }) => {
      if (!set) return energy.read(attributes.includes('all') ? [] : attributes, signal);
      await energy.set(set.attribute, set.value, signal);
      return {};
    },
    ({ set }) => set && checkEnergySetting(set.attribute, set.value),
  ),
  line({ attributes, set }) {
    if (set) return shownSettings({ [set.attribute]: set.value });
    return attributes.length === 0 ? ['all'] : attributes;
  },
  outlivesClient: ({ set }) => set !== undefined,
});

export const reventlog = perNode({
  ...onHardware(
    'reventlog',
    'eventLog',
    {
      clear: Type.Boolean(),
      newest: Type.Optional(Type.Integer({ minimum: 1, description: 'only so many entries, the newest' })),
    },
    async (log, { clear, newest }, { signal }): Promise<NodeValue> => {
      if (!clear) return { eventlog: await log.read(signal, newest) };
      await log.clear(signal);
      return {};
    },
  ),
  line: ({ clear, newest }) => [clear ? 'clear' : (newest?.toString() ?? 'all')],
  outlivesClient: ({ clear }) => clear,
});

const beaconActions = ['on', 'off', 'blink', 'stat'] as const;
type BeaconAction = Exclude<(typeof beaconActions)[number], 'stat'>;

export const rbeacon = perNode({
  ...onHardware(
    'rbeacon',
    'beacon',
    { action: Type.String({ description: 'on, off, blink; stat reads' }) },
    async (beacon, { action }, { signal }) => {
      if (action !== 'stat') {
        await beacon.set(action as BeaconAction, signal);
        return { beacon: action };
      }
      if (!beacon.state) throw new Fault('invalid', 'its BMC does not report the state of its beacon.');
      return { beacon: await beacon.state(signal) };
    },
    ({ action }) => checkWord(action, beaconActions, 'beacon action'),
  ),
  line: ({ action }) => [withoutSecrets(action)],
  outlivesClient: ({ action }) => action !== 'stat',
});

const sequenceArguments = {
  order: Type.Optional(Type.Array(Type.String(), { description: 'what comes first; without it the order is read' })),
};

export const rbootseq = perNode({
  ...onHardware('rbootseq', 'bootSequence', sequenceArguments, async (sequence, { order }, { signal }) => {
    if (order) await sequence.set(order, signal);
    return { bootorder: (await sequence.get(signal)).join(',') };
  }),
  line: ({ order }) => (order === undefined ? [] : [withoutSecrets(order.join(','))]),
  outlivesClient: ({ order }) => order !== undefined,
});
