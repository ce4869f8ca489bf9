import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { InventoryKind } from '../drivers/capabilities.ts';
import { selectNodes } from './command.ts';
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

const args = { kinds: Type.Array(Type.String(), { description: 'none, or all: everything' }) };

export const rinv = perNode({
  ...onHardware('rinv', 'inventory', args, (inventory, { kinds: wanted }, { signal }) =>
    inventory.read(wanted.includes('all') ? [] : (wanted as readonly InventoryKind[]), signal),
  ),
  line: ({ kinds: wanted }) => (wanted.length === 0 ? ['all'] : wanted),
  select(snapshot, given, services) {
    const unknown = given.kinds.find((kind) => kind !== 'all' && !kinds.includes(kind));
    if (unknown !== undefined)
      throw new Fault('invalid', `"${unknown}" is not a kind of inventory; known are all, ${kinds.join(', ')}.`);
    return selectNodes(snapshot, given, services);
  },
});
