import { Fault } from '../core/errors.ts';
import type { VitalsKind } from '../drivers/capabilities.ts';
import { type RangeArgs, selectNodes } from './command.ts';
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

export interface RvitalsArgs extends RangeArgs {
  /** Empty or `all`: everything. */
  readonly kinds: readonly string[];
}

export const rvitals = perNode({
  ...onHardware('rvitals', 'vitals', (vitals, { kinds: wanted }: RvitalsArgs, { signal }) =>
    vitals.read(wanted.includes('all') ? [] : (wanted as readonly VitalsKind[]), signal),
  ),
  select(snapshot, args, services) {
    const unknown = args.kinds.find((kind) => kind !== 'all' && !kinds.includes(kind));
    if (unknown !== undefined)
      throw new Fault('invalid', `"${unknown}" is not a kind of vitals; known are all, ${kinds.join(', ')}.`);
    return selectNodes(snapshot, args, services);
  },
});
