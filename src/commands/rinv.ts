import { Type } from 'typebox';
import { inventoryKinds, kindsIn } from '../drivers/capabilities.ts';
import { onHardware, perNode } from './per-node.ts';

const args = { kinds: Type.Array(Type.String(), { description: 'none, or all: everything' }) };

const kindsOf = (kinds: readonly string[]) => kindsIn('inventory', inventoryKinds, kinds);

export const rinv = perNode({
  ...onHardware(
    'rinv',
    'inventory',
    args,
    (inventory, { kinds }, { signal }) => inventory.read(kindsOf(kinds), signal),
    ({ kinds }) => void kindsOf(kinds),
  ),
  line: ({ kinds }) => (kinds.length === 0 ? ['all'] : kinds),
});
