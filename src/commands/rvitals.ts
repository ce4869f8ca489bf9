import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { VitalsKind } from '../drivers/capabilities.ts';
import { selectNodes } from './command.ts';
import { onHardware, perNode } from './per-node.ts';

const kinds: readonly string[] = [
  'temp',
  'voltage',
  'wattage',
  'fanspeed',
  'power',
  'leds',
  'chassis',
  'energy',
  'altitude',
];

const args = { kinds: Type.Array(Type.String(), { description: 'none, or all: everything' }) };

export const rvitals = perNode({
  ...onHardware('rvitals', 'vitals', args, (vitals, { kinds: wanted }, { signal }) =>
    vitals.read(wanted.includes('all') ? [] : (wanted as readonly VitalsKind[]), signal),
  ),
  line: ({ kinds: wanted }) => (wanted.length === 0 ? ['all'] : wanted),
  select(snapshot, given, services) {
    const unknown = given.kinds.find((kind) => kind !== 'all' && !kinds.includes(kind));
    if (unknown !== undefined)
      throw new Fault('invalid', `"${unknown}" is not a kind of vitals; known are all, ${kinds.join(', ')}.`);
    return selectNodes(snapshot, given, services);
  },
});
