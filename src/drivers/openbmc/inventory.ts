import { textAt } from '../../protocols/redfish/json.ts';
import { cpuLines, dimmLines, gpuLines } from '../redfish/inventory-compute.ts';
import { type InventoryReader, type InventoryReaders, ofSystem } from '../redfish/inventory-machine.ts';
import { identityLines, macLines, pciLines } from '../redfish/inventory.ts';
import { present } from '../redfish/labels.ts';

/** Only what runs; OpenBMC marks it so. */
const firmware: InventoryReader = async ({ system: { body }, ...machine }) => {
  const running = (version: string | undefined): string | undefined => version && `${version} (Active)*`;
  const manager = await machine.manager();
  return present(
    ['HOST Firmware Product', running(textAt(body, 'BiosVersion'))],
    ['BMC Firmware Product', running(textAt(manager?.body, 'FirmwareVersion'))],
  );
};

/** `CPU 1 Model` is `CPU1 Model` there. */
const joined =
  (read: InventoryReader): InventoryReader =>
  async (machine) =>
    (await read(machine)).map(([label, value]) => [label.replace(/^(CPU|GPU|DIMM) (?=\d)/, '$1'), value]);

export const openbmcInventoryReaders: InventoryReaders = [
  [['model', 'vpd'], ofSystem(['SYSTEM Model', 'Model'], ['SYSTEM Manufacturer', 'Manufacturer'])],
  [['serial', 'vpd'], ofSystem(['SYSTEM SerialNumber', 'SerialNumber'])],
  [['uuid', 'guid'], identityLines],
  [['firm'], firmware],
  [['cpu', 'hw'], joined(cpuLines)],
  [['gpu', 'hw'], joined(gpuLines)],
  [['dimm', 'hw'], joined(dimmLines)],
  [['pci', 'hw'], pciLines],
  [['misc', 'hw', 'mac'], macLines],
];
