import { Fault } from '../core/errors.ts';
import type { InventoryKind } from '../drivers/capabilities.ts';
import { type RangeArgs, selectNodes } from './command.ts';
import { onHardware, perNode } from './per-node.ts';

const kinds: readonly string[] = [
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
  'pci',
  'mprom',
  'misc',
  'hw',
];

export interface RinvArgs extends RangeArgs {
  /** Empty or `all`: everything. */
  readonly kinds: readonly string[];
}

export const rinv = perNode({
  ...onHardware('rinv', 'inventory', (inventory, { kinds: wanted }: RinvArgs, { signal }) =>
    inventory.read(wanted.includes('all') ? [] : (wanted as readonly InventoryKind[]), signal),
  ),
  select(snapshot, args, services) {
    const unknown = args.kinds.find((kind) => kind !== 'all' && !kinds.includes(kind));
    if (unknown !== undefined)
      throw new Fault('invalid', `"${unknown}" is not a kind of inventory; known are all, ${kinds.join(', ')}.`);
    return selectNodes(snapshot, args, services);
  },
});
