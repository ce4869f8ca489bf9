import { isNodeName } from '../../core/object-names.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { byText } from '../../database/sorted-map.ts';
import { isEnabled } from '../../database/tables.ts';
import { type Device, type Kind, kinds, portsOf } from './device.ts';

/** The nodes that are defined already, by what identifies a device. Values that nodes have from groups are not looked at. */
export class KnownNodes {
  readonly #machines = new Map<string, string>();
  readonly #addresses = new Map<string, string>();
  readonly #processors = new Map<string, string>();

  constructor(snapshot: Snapshot) {
    const defined = (node: string): boolean => snapshot.get('nodelist', node) !== undefined;
    const each = (table: string, note: (node: string, row: Readonly<Record<string, string>>) => void): void => {
      for (const row of snapshot.rows(table).values())
        if (isEnabled(row) && defined(row['node']!)) note(row['node']!, row);
    };
    each('vpd', (node, { mtm, serial, side = '' }) => {
      const kind = snapshot.get('ppc', node)?.['nodetype'] ?? snapshot.get('mp', node)?.['nodetype'] ?? '';
      if (mtm && serial) this.#machines.set([kind, mtm, serial, side].join('\0'), node);
    });
    each('hosts', (node, { ip }) => void (ip && this.#addresses.set(ip, node)));
    for (const table of ['ipmi', 'openbmc'])
      each(table, (node, { bmc }) => void (bmc && this.#processors.set(bmc, node)));
  }

  byMachine(kind: string, mtm: string, serial: string, side = ''): string | undefined {
    return this.#machines.get([kind, mtm, serial, side].join('\0'));
  }

  byAddress(address: string): string | undefined {
    return this.#addresses.get(address);
  }

  /** The node whose BMC has this address. */
  byProcessor(address: string): string | undefined {
    return this.#processors.get(address);
  }
}

export type Attributes = Readonly<Record<string, string>>;

interface Surroundings {
  readonly known: KnownNodes;
  /** MAC addresses by IP address. */
  readonly neighbours: ReadonlyMap<string, string>;
}

/** The devices as definitions of nodes, in the order of their names. */
export function definitionsOf(devices: readonly Device[], surroundings: Surroundings): Map<string, Attributes> {
  const found = new Map<string, Attributes>();
  const { known } = surroundings;
  const machines = machinesOf(devices, known);
  for (const { name, attributes } of machines.values()) put(found, name, attributes);
  for (const device of devices) {
    const machine = machines.get(machineKey(device));
    const definitions = machine
      ? portDefinitions(device, machine, surroundings)
      : [deviceDefinition(device, surroundings)];
    for (const { name, address, attributes } of definitions) {
      const other = found.get(name);
      // A node's BMC may have announced itself in two ways.
      if (other && other['bmc'] === attributes['bmc'] && known.byProcessor(address) === name) continue;
      put(found, other && name !== address ? `${name}-${address}` : name, attributes);
    }
  }
  return new Map([...found].sort(([a], [b]) => byText(a, b)));
}

function put(found: Map<string, Attributes>, name: string, attributes: Attributes): void {
  if (!found.has(name)) found.set(name, attributes);
}

/** What a device of two ports or more belongs to. */
interface Machine {
  readonly name: string;
  readonly id: string;
  readonly attributes: Attributes;
}

const machineKey = ({ kind, mtm, serial }: Device): string => [kind.name, mtm, serial].join('\0');
/** Devices say what they like; a name has only what names may have. */
const serverName = (mtm: string, serial: string): string =>
  `Server-${mtm}-SN${serial}`.replaceAll(/[^A-Za-z0-9_-]/g, '-');

/** Machines and frames, which are known by their BMCs and power controllers only. Frames come first: machines name them. */
function machinesOf(devices: readonly Device[], known: KnownNodes): Map<string, Machine> {
  const machines = new Map<string, Machine>();
  for (const [part, kind] of [
    [kinds.bpa, kinds.frame],
    [kinds.fsp, kinds.cec],
  ] as const) {
    const parts = Map.groupBy(
      devices.filter((device) => device.kind === part && device.mtm && device.serial),
      machineKey,
    );
    for (const [key, all] of parts) {
      const { mtm, serial } = all[0]!;
      const name = known.byMachine(kind.name, mtm, serial) ?? serverName(mtm, serial);
      // A processor that has not taken part in the numbering yet says 0.
      const announced = (column: 'frame' | 'cage' | 'frameMtm' | 'frameSerial'): string =>
        all.map((each) => each[column]).find((value) => value !== '' && value !== '0') ?? all[0]![column];
      const id = announced(kind === kinds.frame ? 'frame' : 'cage');
      const parent =
        kind === kinds.cec ? frameOf(announced('frameMtm'), announced('frameSerial'), machines, known) : '';
      machines.set(key, { name, id, attributes: attributesOf({ kind, name, mtm, serial, id, parent }) });
    }
  }
  return machines;
}

function frameOf(mtm: string, serial: string, machines: ReadonlyMap<string, Machine>, known: KnownNodes): string {
  if (!mtm || !serial) return '';
  const frame = machines.get([kinds.bpa.name, mtm, serial].join('\0'));
  return frame?.name ?? known.byMachine(kinds.frame.name, mtm, serial) ?? '';
}

interface Definition {
  readonly name: string;
  readonly address: string;
  readonly attributes: Attributes;
}

function portDefinitions(device: Device, machine: Machine, { known, neighbours }: Surroundings): Definition[] {
  const { kind, mtm, serial, slot, mac } = device;
  return portsOf(device).map(([address, port]) => {
    const side = `${slot === '0' ? 'B' : 'A'}-${port}`;
    const name = known.byMachine(kind.name, mtm, serial, side) ?? address;
    const own = address === device.address ? mac : '';
    const attributes = attributesOf({
      kind,
      name,
      mtm,
      serial,
      side,
      id: machine.id,
      parent: machine.name,
      mac: neighbours.get(address) ?? own,
      address,
      announced: address === device.address ? device.announced : '',
    });
    return { name, address, attributes };
  });
}

function deviceDefinition(device: Device, { known, neighbours }: Surroundings): Definition {
  const { kind, address, announced, mtm, serial, slot, uuid } = device;
  const name = nameOf(device, known);
  const attributes = attributesOf({
    kind,
    name,
    mtm,
    serial,
    side: kind === kinds.cmm ? slot : '',
    mac: neighbours.get(address) ?? device.mac,
    address,
    announced,
    uuid,
  });
  return { name, address, attributes };
}

function nameOf({ kind, address, addresses, hostname, mtm, serial }: Device, known: KnownNodes): string {
  const defined =
    kind.contact === 'bmc'
      ? known.byProcessor(address)
      : (known.byMachine(kind.name, mtm, serial) ??
        [address, ...addresses].map((one) => known.byAddress(one)).find((node) => node !== undefined));
  if (defined !== undefined) return defined;
  const short = hostname.replace(/\..*/, '');
  // What would be a property of every object is no name.
  if (isNodeName(short) && !short.startsWith('_')) return short;
  return mtm && serial ? serverName(mtm, serial) : address;
}

type Facts = { readonly kind: Kind } & Readonly<Record<'name' | 'mtm' | 'serial', string>> &
  Partial<Readonly<Record<'side' | 'id' | 'parent' | 'mac' | 'address' | 'announced' | 'uuid', string>>>;

/** In the order of the reference system; what is unknown is left out. */
function attributesOf({ kind, name, mtm, serial, side, id, parent, mac, address, announced, uuid }: Facts): Attributes {
  const console = kind === kinds.hmc || kind === kinds.ivm;
  const attributes = {
    objtype: 'node',
    [kind.contact]: kind.contact === 'bmc' ? address : name,
    nodetype: kind.nodetype,
    mtm,
    serial,
    side,
    groups: `${kind.name},all`,
    mgt: kind.mgt,
    id,
    parent,
    mac,
    hidden: kind === kinds.fsp || kind === kinds.bpa ? '1' : '0',
    otherinterfaces: console ? '' : address,
    ip: console ? address : '',
    hwtype: kind.name,
    uuid,
    usercomment: announced ? `answered from ${address}, announces ${announced}` : '',
  };
  return Object.fromEntries(
    Object.entries(attributes).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== ''),
  );
}
