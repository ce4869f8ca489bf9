import { Fault } from '../../core/errors.ts';
import { unanswered } from '../../protocols/ipmi/commands/ask.ts';
import { type DeviceId, getDeviceId, getGuid } from '../../protocols/ipmi/commands/device.ts';
import { type Fru, readFru } from '../../protocols/ipmi/commands/fru.ts';
import type { FruLocator } from '../../protocols/ipmi/commands/sdr-record.ts';
import type { Inventory, InventoryKind, Labelled } from '../capabilities.ts';
import { type Bmc, boundedReading } from './bmc.ts';

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

/** IANA's private enterprise numbers of those who make BMCs and what they are in. */
const manufacturers: Readonly<Record<number, string>> = {
  2: 'IBM',
  11: 'HP',
  42: 'Sun Microsystems',
  343: 'Intel',
  674: 'Dell',
  2623: 'ASUSTeK',
  5771: 'Cisco',
  7244: 'Quanta',
  10368: 'Fujitsu',
  10876: 'Supermicro',
  15370: 'GIGABYTE',
  19046: 'Lenovo',
  20301: 'IBM',
  47196: 'HPE',
};

const manufacturer = (id: number): string => {
  const name = manufacturers[id];
  return name === undefined ? String(id) : `${name} (${id})`;
};

function deviceLines(device: DeviceId): readonly InventoryLine[] {
  const identity: readonly InventoryKind[] = ['deviceid', 'vpd'];
  return [
    { label: 'Manufacturer ID', value: manufacturer(device.manufacturerId), kinds: identity },
    { label: 'Product ID', value: String(device.productId), kinds: identity },
    { label: 'Device ID', value: String(device.deviceId), kinds: identity },
    { label: 'BMC Firmware', value: device.firmware, kinds: ['firm', 'mprom', 'vpd'] },
  ];
}

/** One part that is refused or makes no sense hides no other: its line says why. Silence is the whole BMC's. */
async function readable(
  label: string,
  kinds: readonly InventoryKind[],
  signal: AbortSignal,
  read: () => Promise<readonly InventoryLine[]>,
): Promise<readonly InventoryLine[]> {
  try {
    return await read();
  } catch (error) {
    const isSilence = signal.aborted || unanswered(error, signal);
    if (isSilence || !(error instanceof Fault)) throw error;
    return [{ label, value: `cannot be read: ${error.message}`, kinds }];
  }
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
    lines.push(
      ...(await readable(name, [kind], signal, async () =>
        partLines(name, await readFru(bmc.link, part.fruId, signal), kind),
      )),
    );
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
    const system = async () => {
      const fru = await readFru(bmc.link, 0, signal);
      return fru === undefined ? [] : systemLines(fru);
    };
    lines.push(...(await readable('System', sources.system, signal, system)));
  }
  if (sources.device.some(wants)) lines.push(...deviceLines(await getDeviceId(bmc.link, signal)));
  if (sources.guid.some(wants)) {
    const label = 'UUID/GUID';
    const guid = async () => [{ label, value: await getGuid(bmc.link, signal), kinds: sources.guid }];
    lines.push(...(await readable(label, sources.guid, signal, guid)));
  }
  if (sources.parts.some(wants))
    lines.push(...(await readable('Parts', sources.parts, signal, () => partsOf(bmc, wants, signal))));
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

interface InventoryLine {
  readonly label: string;
  readonly value: string;
  /** The kinds it is shown for; `all` shows every line. */
  readonly kinds: readonly InventoryKind[];
}

/** `08/01/2022 21:52:00` in universal time, as the board says it. */
function dateText(date: Date | undefined): string {
  if (date === undefined) return '';
  const iso = date.toISOString();
  return `${iso.slice(5, 7)}/${iso.slice(8, 10)}/${iso.slice(0, 4)} ${iso.slice(11, 19)}`;
}

const filled = (lines: readonly InventoryLine[]) => lines.filter(({ value }) => value !== '');

/** The machine itself: FRU device 0. */
function systemLines({ chassis, board, product }: Fru): readonly InventoryLine[] {
  return filled([
    { label: 'System Manufacturer', value: product?.manufacturer ?? '', kinds: ['vpd', 'hw'] },
    { label: 'System Description', value: product?.description ?? '', kinds: ['model', 'vpd', 'hw'] },
    { label: 'System Model/MTM', value: product?.model ?? '', kinds: ['model', 'vpd', 'hw'] },
    { label: 'System Revision', value: product?.revision ?? '', kinds: ['hw'] },
    { label: 'System Serial Number', value: product?.serialNumber ?? '', kinds: ['serial', 'vpd', 'hw'] },
    { label: 'System Asset Number', value: product?.assetTag ?? '', kinds: ['asset', 'hw'] },
    { label: 'Product Extra data', value: product?.extra.filter(Boolean).join(', ') ?? '', kinds: ['misc'] },
    { label: 'Chassis Serial Number', value: chassis?.serialNumber ?? '', kinds: ['serial', 'hw'] },
    { label: 'Chassis Part Number', value: chassis?.partNumber ?? '', kinds: ['model', 'hw'] },
    { label: 'Chassis Extra data', value: chassis?.extra.filter(Boolean).join(', ') ?? '', kinds: ['misc'] },
    { label: 'Board manufacturer', value: board?.manufacturer ?? '', kinds: ['hw'] },
    { label: 'Board manufacture date', value: dateText(board?.manufactured), kinds: ['hw'] },
    { label: 'Board Description', value: board?.description ?? '', kinds: ['hw'] },
    { label: 'Board Serial Number', value: board?.serialNumber ?? '', kinds: ['hw'] },
    { label: 'Board Model Number', value: board?.model ?? '', kinds: ['hw'] },
    { label: 'Board Extra data', value: board?.extra.filter(Boolean).join(', ') ?? '', kinds: ['misc'] },
  ]);
}

/** A part of the machine: any other FRU device. Undefined: the part is not there. */
function partLines(name: string, fru: Fru | undefined, kind: InventoryKind): readonly InventoryLine[] {
  const kinds = [kind];
  if (fru === undefined) return [{ label: name, value: 'Not Present', kinds }];
  const { board, product } = fru;
  return filled([
    { label: `${name} Board Part Number`, value: board?.model ?? '', kinds },
    { label: `${name} Board Serial Number`, value: board?.serialNumber ?? '', kinds },
    { label: `${name} Board Manufacturer`, value: board?.manufacturer ?? '', kinds },
    { label: `${name} Board`, value: board?.description ?? '', kinds },
    { label: `${name} Product Serial Number`, value: product?.serialNumber ?? '', kinds },
    { label: `${name} Product Manufacturer`, value: product?.manufacturer ?? '', kinds },
    { label: `${name} Product Version`, value: product?.revision ?? '', kinds },
    { label: `${name} Product Model`, value: product?.model ?? '', kinds },
  ]);
}
