import { Fault } from '../../core/errors.ts';
import { textAt } from '../../protocols/redfish/json.ts';
import { type Inventory, inventoryKinds } from '../capabilities.ts';
import { type Line, labelled, message, present } from './labels.ts';
import { cpuLines, dimmLines, firmwareLines, macLines, pciLines } from './inventory-parts.ts';
import { identityLines, type InventoryReader, type InventoryReaders, machineOf, ofSystem } from './inventory-reader.ts';
import type { Target } from './target.ts';

const boardLines: InventoryReader = async ({ system: { body }, ...machine }) => {
  const chassis = (await machine.chassis()).flatMap((one) =>
    present(
      ['Chassis Serial Number', textAt(one.body, 'SerialNumber')],
      ['Chassis Part Number', textAt(one.body, 'PartNumber')],
    ),
  );
  return [...present(['System Asset Number', textAt(body, 'AssetTag')]), ...chassis];
};

const redfishReaders: InventoryReaders = [
  [['vpd'], ofSystem(['System Manufacturer', 'Manufacturer'], ['System SKU', 'SKU'])],
  [['model', 'vpd'], ofSystem(['System Model/MTM', 'Model'])],
  [['serial', 'vpd'], ofSystem(['System Serial Number', 'SerialNumber'])],
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
