import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { allResources, memberResources, resourcesAt } from '../../protocols/redfish/collection.ts';
import { linkAt, linksAt, listAt, numberAt, textAt } from '../../protocols/redfish/json.ts';
import { rootMember } from '../../protocols/redfish/node-resources.ts';
import { type Inventory, type InventoryKind, inventoryKinds } from '../capabilities.ts';
import { labelled, type Line, message, present } from './labels.ts';
import { chassisFor, managerFor, systemIfAny, type Target } from './target.ts';

/** What one reading of an inventory is made from; each resource is read at most once. */
interface Machine {
  readonly target: Target;
  readonly signal: AbortSignal;
  /** Or the enclosure, where the service has no system at all. */
  readonly system: Resource;
  chassis(): Promise<readonly Resource[]>;
  manager(): Promise<Resource | undefined>;
}

export type InventoryReader = (machine: Machine) => Promise<readonly Line[]>;
/** What is read for each selection, in the order of the lines. */
export type InventoryReaders = readonly (readonly [kinds: readonly InventoryKind[], read: InventoryReader])[];

/** Reads texts of the system itself, each under its label. */
export const ofSystem =
  (...lines: readonly (readonly [label: string, member: string])[]): InventoryReader =>
  async ({ system: { body } }) =>
    present(...lines.map(([label, member]) => [label, textAt(body, member)] as const));

export const identityLines: InventoryReader = async ({ system: { body } }) =>
  present(['UUID/GUID', textAt(body, 'UUID')?.toUpperCase()]);

async function machineOf(target: Target, signal: AbortSignal): Promise<Machine> {
  let chassis: Promise<readonly Resource[]> | undefined;
  const chassisOnce = (): Promise<readonly Resource[]> => (chassis ??= chassisFor(target, signal));
  const system = (await systemIfAny(target, signal)) ?? (await chassisOnce())[0];
  if (!system) throw new Fault('invalid', 'its Redfish service has neither a computer system nor a chassis.');
  let manager: Promise<Resource | undefined> | undefined;
  return {
    target,
    signal,
    system,
    chassis: chassisOnce,
    manager: () => (manager ??= managerFor(target, signal)),
  };
}

const isThere = ({ body }: Resource): boolean => textAt(body, 'Status', 'State') !== 'Absent';
const withUnit = (value: number | undefined, unit: string): string | undefined =>
  value === undefined ? undefined : `${value} ${unit}`;

const firmwareLines: InventoryReader = async ({ target, signal, system: { body }, ...machine }) => {
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
