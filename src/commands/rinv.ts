import { Type } from 'typebox';
import { inventoryKinds } from '../drivers/capabilities.ts';
import { kindsIn } from '../drivers/kinds.ts';
import { selectNodes } from './command.ts';
import { onHardware, perNode } from './per-node.ts';

const args = { kinds: Type.Array(Type.String(), { description: 'none, or all: everything' }) };

const kindsOf = (kinds: readonly string[]) => kindsIn('inventory', inventoryKinds, kinds);

export const rinv = perNode({
  ...onHardware('rinv', 'inventory', args, (inventory, { kinds }, { signal }) =>
    inventory.read(kindsOf(kinds), signal),
  ),
  line: ({ kinds }) => (kinds.length === 0 ? ['all'] : kinds),
  select(snapshot, given, services) {
    kindsOf(given.kinds);
    return selectNodes(snapshot, given, services);
  },
});
