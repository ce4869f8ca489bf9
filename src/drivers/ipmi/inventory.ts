import { type DeviceId, getDeviceId, getGuid } from '../../protocols/ipmi/commands/device.ts';
import { readFru } from '../../protocols/ipmi/commands/fru.ts';
import type { FruLocator } from '../../protocols/ipmi/commands/sdr-record.ts';
import type { Inventory, InventoryKind, Labelled } from '../capabilities.ts';
import type { Bmc } from './bmc.ts';
import { boundedReading } from './deadline.ts';
import { type InventoryLine, partLines, systemLines } from './fru-labels.ts';

/** Where the lines of a kind come from: each source is asked only when a wanted kind needs it. */
const sources = {
  device: ['deviceid', 'firm', 'mprom', 'vpd'],
  guid: ['guid', 'uuid'],
  system: ['model', 'serial', 'asset', 'vpd', 'hw', 'misc'],
  parts: ['dimm', 'cpu', 'pci', 'hw'],
} as const satisfies Readonly<Record<string, readonly InventoryKind[]>>;

/** Entities of IPMI 2.0 table 43-13 that have a kind of their own. */
const entityKinds: Readonly<Record<number, InventoryKind>> = { 3: 'cpu', 8: 'dimm', 11: 'pci', 16: 'pci', 32: 'dimm' };
const ownController = 0x20;

function deviceLines(device: DeviceId): readonly InventoryLine[] {
  const identity: readonly InventoryKind[] = ['deviceid', 'vpd'];
  return [
    { label: 'Manufacturer ID', value: String(device.manufacturerId), kinds: identity },
    { label: 'Product ID', value: String(device.productId), kinds: identity },
    { label: 'Device ID', value: String(device.deviceId), kinds: identity },
    { label: 'BMC Firmware', value: device.firmware, kinds: ['firm', 'mprom', 'vpd'] },
  ];
}

async function partsOf(
  bmc: Bmc,
  wants: (kind: InventoryKind) => boolean,
  signal: AbortSignal,
): Promise<readonly InventoryLine[]> {
  const records = await bmc.records(signal);
  const parts = records.filter(
    (record): record is FruLocator =>
      record.kind === 'fru' && record.logical && record.owner === ownController && record.fruId !== 0,
  );
  const lines: InventoryLine[] = [];
  for (const part of parts) {
    const kind = entityKinds[part.entity] ?? 'hw';
    if (!wants(kind)) continue;
    const name = part.name || `FRU ${part.fruId}`;
    lines.push(...partLines(name, await readFru(bmc.link, part.fruId, signal), kind));
  }
  return lines;
}

async function collect(
  bmc: Bmc,
  wants: (kind: InventoryKind) => boolean,
  signal: AbortSignal,
): Promise<readonly InventoryLine[]> {
  const lines: InventoryLine[] = [];
  if (sources.system.some(wants)) {
    const fru = await readFru(bmc.link, 0, signal);
    if (fru !== undefined) lines.push(...systemLines(fru));
  }
  if (sources.device.some(wants)) lines.push(...deviceLines(await getDeviceId(bmc.link, signal)));
  if (sources.guid.some(wants)) {
    lines.push({ label: 'UUID/GUID', value: await getGuid(bmc.link, signal), kinds: ['guid', 'uuid'] });
  }
  if (sources.parts.some(wants)) lines.push(...(await partsOf(bmc, wants, signal)));
  return lines;
}

export function ipmiInventory(bmc: Bmc): Inventory {
  return {
    async read(kinds, signal): Promise<Labelled> {
      const wants = (kind: InventoryKind) => kinds.length === 0 || kinds.includes(kind);
      const found = await boundedReading(signal, (inner) => collect(bmc, wants, inner));
      const lines = found.filter((line) => line.kinds.some(wants));
      const missing = kinds.filter((kind) => !lines.some((line) => line.kinds.includes(kind)));
      const labels: Labelled = Object.fromEntries(lines.map(({ label, value }) => [label, value]));
      if (missing.length === 0) return labels;
      return { ...labels, Message: missing.map((kind) => `No ${kind} information found in system`) };
    },
  };
}
