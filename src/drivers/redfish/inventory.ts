import { Fault } from '../../core/errors.ts';
import { allResources, memberResources, resourcesAt } from '../../protocols/redfish/collection.ts';
import { linkAt, linksAt, listAt, textAt } from '../../protocols/redfish/json.ts';
import { type Inventory, inventoryKinds } from '../capabilities.ts';
import { firmwareLines } from './firmware-inventory.ts';
import { cpuLines, dimmLines, gpuLines } from './inventory-compute.ts';
import { type InventoryReader, type InventoryReaders, isThere, machineOf, ofSystem } from './inventory-machine.ts';
import { labelled, type Line, message, present } from './labels.ts';
import type { Target } from './target.ts';

export const identityLines: InventoryReader = async ({ system: { body } }) =>
  present(['UUID/GUID', textAt(body, 'UUID')?.toUpperCase()]);

/** A chassis links to a collection of its devices, a system to each of them. */
export const pciLines: InventoryReader = async ({ target, signal, system: { body }, ...machine }) => {
  const own = await allResources(target.service, listAt(body, 'PCIeDevices'), signal);
  const devices = new Map(own.map((device) => [device.path, device]));
  const { own: around, parts } = await machine.chassis();
  for (const chassis of [...around, ...parts]) {
    const collected = await memberResources(target.service, linkAt(chassis.body, 'PCIeDevices'), signal);
    const linked = linksAt(chassis.body, 'Links', 'PCIeDevices').filter((path) => !devices.has(path));
    const followed = await resourcesAt(target.service, linked, signal);
    for (const device of [...collected, ...followed]) devices.set(device.path, device);
  }
  return [...devices.values()].filter(isThere).flatMap(({ body: device }, index) => {
    const words = [textAt(device, 'Manufacturer'), textAt(device, 'Model') ?? textAt(device, 'Name')];
    return present([`PCI ${index + 1}`, words.filter((word) => word !== undefined).join(' ') || undefined]);
  });
};

export const macLines: InventoryReader = async ({ target, signal, system: { body } }) => {
  const interfaces = await memberResources(target.service, linkAt(body, 'EthernetInterfaces'), signal);
  const macs = interfaces.flatMap(
    (one) => textAt(one.body, 'MACAddress') ?? textAt(one.body, 'PermanentMACAddress') ?? [],
  );
  return present(...macs.map((mac, index) => [`MAC Address ${index + 1}`, mac.toLowerCase()] as const));
};

/** The first chassis is that of the system; others, such as those of its accelerators, go by their names. */
const boardLines: InventoryReader = async ({ system: { body }, ...machine }) => {
  const { own, parts } = await machine.chassis();
  const chassis = [...own, ...parts].flatMap(({ path, body: one }, index) => {
    const name = index === 0 ? 'Chassis' : (textAt(one, 'Id') ?? path);
    return present(
      [`${name} Serial Number`, textAt(one, 'SerialNumber')],
      [`${name} Part Number`, textAt(one, 'PartNumber')],
    );
  });
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
  [['gpu', 'hw'], gpuLines],
  [['dimm', 'hw'], dimmLines],
  [['pci', 'hw'], pciLines],
  [['hw', 'misc', 'mac'], macLines],
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
