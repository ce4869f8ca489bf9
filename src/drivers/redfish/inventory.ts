import { Fault } from '../../core/errors.ts';
import { type Inventory, inventoryKinds } from '../capabilities.ts';
import { type Line, labelled, message } from './labels.ts';
import { boardLines, identityLines, modelLines, serialLines, vpdLines } from './inventory-system.ts';
import { cpuLines, dimmLines, firmwareLines, macLines, pciLines } from './inventory-parts.ts';
import { type InventoryReaders, machineOf } from './inventory-reader.ts';
import type { Target } from './target.ts';

export const redfishReaders: InventoryReaders = [
  [['vpd'], vpdLines],
  [['model', 'vpd'], modelLines],
  [['serial', 'vpd'], serialLines],
  [['asset', 'vpd'], boardLines],
  [['uuid', 'guid', 'vpd'], identityLines],
  [['firm'], firmwareLines],
  [['cpu', 'hw'], cpuLines],
  [['dimm', 'hw'], dimmLines],
  [['pci', 'hw'], pciLines],
  [['hw', 'misc'], macLines],
];

const nothing: Line = [message, 'No attributes returned from the BMC.'];

export function redfishInventory(target: Target, readers: InventoryReaders = redfishReaders): Inventory {
  return {
    async read(kinds, signal) {
      const unknown = kinds.filter((kind) => !inventoryKinds.includes(kind));
      if (unknown.length > 0) {
        throw new Fault('invalid', `unknown inventory: ${unknown.join(', ')}; known are ${inventoryKinds.join(', ')}.`);
      }
      const machine = await machineOf(target, signal);
      const lines: Line[] = [];
      for (const [of, read] of readers) {
        if (kinds.length === 0 || of.some((kind) => kinds.includes(kind))) lines.push(...(await read(machine)));
      }
      return labelled(lines.length > 0 ? lines : [nothing]);
    },
  };
}
