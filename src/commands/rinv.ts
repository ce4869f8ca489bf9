import { Fault } from '../core/errors.ts';
import type { InventoryKind } from '../drivers/capabilities.ts';
import { perNode, selectNodes } from './command.ts';

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

export interface RinvArgs {
  readonly range: string;
  /** Empty or `all`: everything. */
  readonly kinds: readonly string[];
}

export const rinv = perNode<RinvArgs>({
  name: 'rinv',
  select(snapshot, args, services) {
    const unknown = args.kinds.find((kind) => kind !== 'all' && !kinds.includes(kind));
    if (unknown !== undefined)
      throw new Fault('invalid', `"${unknown}" is not a kind of inventory; known are all, ${kinds.join(', ')}.`);
    return selectNodes(snapshot, args, services);
  },
  run(snapshot, args, { hardware, selection, caller }, signal) {
    const wanted = args.kinds.includes('all') ? [] : (args.kinds as readonly InventoryKind[]);
    return hardware.each(
      snapshot,
      selection.nodes ?? [],
      {
        command: 'rinv',
        needs: 'inventory',
        user: caller.user,
        run: (inventory, _node, aborted) => inventory.read(wanted, aborted),
      },
      signal,
    );
  },
});
