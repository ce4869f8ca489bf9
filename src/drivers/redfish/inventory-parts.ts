import type { Resource } from '../../protocols/redfish/client.ts';
import { allResources, memberResources, resourcesAt } from '../../protocols/redfish/collection.ts';
import { linkAt, linksAt, listAt, numberAt, textAt } from '../../protocols/redfish/json.ts';
import { rootMember } from '../../protocols/redfish/node-resources.ts';
import type { InventoryReader } from './inventory-reader.ts';
import { present } from './labels.ts';

const isThere = ({ body }: Resource): boolean => textAt(body, 'Status', 'State') !== 'Absent';
const withUnit = (value: number | undefined, unit: string): string | undefined =>
  value === undefined ? undefined : `${value} ${unit}`;

export const firmwareLines: InventoryReader = async ({ target, signal, system: { body }, ...machine }) => {
  const manager = await machine.manager();
  const updates = await rootMember(target.service, 'UpdateService', signal);
  const images = await memberResources(target.service, linkAt(updates?.body, 'FirmwareInventory'), signal);
  const known = present(
    ['BMC Firmware', textAt(manager?.body, 'FirmwareVersion')],
    ['UEFI Version', textAt(body, 'BiosVersion')],
  );
  const others = images.flatMap(({ body: image }) =>
    present([firmwareLabel(textAt(image, 'Name') ?? textAt(image, 'Id') ?? ''), textAt(image, 'Version')]),
  );
  const listed = new Set(known.map((line) => line.join()));
  return [...known, ...others.filter((line) => !listed.has(line.join()))];
};

function firmwareLabel(name: string): string {
  return /firmware|bios|uefi|version/i.test(name) ? name : `${name} Firmware`.trim();
}

export const cpuLines: InventoryReader = async ({ target, signal, system: { body } }) => {
  const processors = await memberResources(target.service, linkAt(body, 'Processors'), signal);
  const cpus = processors.filter(isThere).filter((cpu) => (textAt(cpu.body, 'ProcessorType') ?? 'CPU') === 'CPU');
  if (cpus.length === 0) {
    return present(
      ['CPU Count', numberAt(body, 'ProcessorSummary', 'Count')],
      ['CPU Model', textAt(body, 'ProcessorSummary', 'Model')],
    );
  }
  return cpus.flatMap(({ body: cpu }, index) =>
    present(
      [`CPU ${index + 1} Manufacturer`, textAt(cpu, 'Manufacturer')],
      [`CPU ${index + 1} Model`, textAt(cpu, 'Model')],
      [`CPU ${index + 1} Cores`, numberAt(cpu, 'TotalCores')],
      [`CPU ${index + 1} Threads`, numberAt(cpu, 'TotalThreads')],
      [`CPU ${index + 1} Maximum Speed`, withUnit(numberAt(cpu, 'MaxSpeedMHz'), 'MHz')],
    ),
  );
};

export const dimmLines: InventoryReader = async ({ target, signal, system: { body } }) => {
  const modules = (await memberResources(target.service, linkAt(body, 'Memory'), signal)).filter(isThere);
  if (modules.length === 0) {
    return present(['Total Memory', withUnit(numberAt(body, 'MemorySummary', 'TotalSystemMemoryGiB'), 'GiB')]);
  }
  return modules.flatMap(({ body: dimm }, index) =>
    present(
      [`DIMM ${index + 1} Location`, textAt(dimm, 'DeviceLocator') ?? textAt(dimm, 'Name')],
      [`DIMM ${index + 1} Size`, withUnit(numberAt(dimm, 'CapacityMiB'), 'MiB')],
      [`DIMM ${index + 1} Type`, textAt(dimm, 'MemoryDeviceType')],
      [`DIMM ${index + 1} Speed`, withUnit(numberAt(dimm, 'OperatingSpeedMhz'), 'MHz')],
      [`DIMM ${index + 1} Manufacturer`, textAt(dimm, 'Manufacturer')],
      [`DIMM ${index + 1} Model`, textAt(dimm, 'PartNumber')],
      [`DIMM ${index + 1} Serial Number`, textAt(dimm, 'SerialNumber')],
    ),
  );
};

/** A chassis links to a collection of its devices, a system to each of them. */
export const pciLines: InventoryReader = async ({ target, signal, system: { body }, ...machine }) => {
  const own = await allResources(target.service, listAt(body, 'PCIeDevices'), signal);
  const devices = new Map(own.map((device) => [device.path, device]));
  for (const chassis of await machine.chassis()) {
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
