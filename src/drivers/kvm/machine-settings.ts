import { Fault } from '../../core/errors.ts';
import {
  type Display,
  displayOf,
  displayProtocols,
  type Firmware,
  otherSettings,
  type PciAddress,
} from './other-settings.ts';
import { type Location, locationsIn } from './locations.ts';

const mebi = 1024n * 1024n;

const units: Readonly<Record<string, bigint>> = { K: 1024n, M: mebi, G: 1024n * mebi, T: mebi * mebi };

/** Bytes of `20`, `20G`, `1.5T`, `512MB`; undefined if it is no size. */
export function bytesOf(text: string, usualUnit: string): bigint | undefined {
  const [, whole, part = '', unit = usualUnit] =
    /^(\d{1,9})(?:\.(\d{1,3}))?\s*([KMGT])?(?:i?B)?$/i.exec(text.trim()) ?? [];
  const factor = units[unit.toUpperCase()];
  if (whole === undefined || factor === undefined) return undefined;
  return (BigInt(whole + part.padEnd(3, '0')) * factor) / 1000n;
}

/** More than any disk; numbers of 64 bits hold it. */
const largestDisk = mebi * mebi * mebi;

/** Bytes of a disk; gigabytes if no unit is given. */
export function diskSize(text: string): bigint {
  const bytes = bytesOf(text, 'G');
  if (bytes !== undefined && bytes > 0n && bytes <= largestDisk) return bytes;
  throw new Fault('invalid', `"${text}" is not the size of a disk: give gigabytes, or a number with K, M, G or T.`);
}

export const inMegabytes = (bytes: bigint): string => `${bytes / mebi} MB`;

/** What the attribute vmvirtflags says, checked. */
export interface VirtFlags {
  format?: 'qcow2' | 'raw';
  /** Disks have all their room from the start. */
  isAllocated?: boolean;
  /** It stays where it is. */
  isPinned?: boolean;
}

/** How each flag is taken; false: its value is none. */
const takers: Readonly<Record<string, (found: VirtFlags, value: string) => boolean>> = {
  imageformat(found, value) {
    if (value !== 'raw' && value !== 'fullraw' && value !== 'qcow2') return false;
    found.format = value === 'qcow2' ? 'qcow2' : 'raw';
    found.isAllocated = value === 'fullraw';
    return true;
  },
  placement_affinity(found, value) {
    found.isPinned = value === 'pinned';
    return ['migratable', 'user_migratable', 'pinned'].includes(value);
  },
  // Libvirt copies disks, and has no other way.
  clonemethod: (_found, value) => value === 'qemu-img',
};

const offered =
  'imageformat=raw, fullraw or qcow2, placement_affinity=migratable, user_migratable or pinned, clonemethod=qemu-img';

/** The attribute vmvirtflags: flags with their values, joined by commas. */
export function virtFlags(text: string): VirtFlags {
  const found: VirtFlags = {};
  for (const item of text.split(',').flatMap((each) => each.trim() || [])) {
    const [name = '', value = '', ...more] = item.split('=').map((each) => each.trim());
    if (more.length === 0 && Object.hasOwn(takers, name) && takers[name]!(found, value)) continue;
    throw new Fault(
      'invalid',
      `its attribute vmvirtflags, "${text}", is wrong: "${item}" means nothing to libvirt; use ${offered}.`,
    );
  }
  return found;
}

/** The attributes that a machine is made from. */
export const machineAttributes = [
  'arch',
  'mac',
  'vmbootorder',
  'vmcpus',
  'vmmemory',
  'vmnicnicmodel',
  'vmnics',
  'vmothersetting',
  'vmstorage',
  'vmstoragecache',
  'vmstorageformat',
  'vmstoragemodel',
  'vmvirtflags',
  'vm.clockoffset',
  'vm.vidmodel',
  'vm.vidpassword',
  'vm.vidproto',
] as const;

export type MachineAttributes = Readonly<Partial<Record<(typeof machineAttributes)[number], string | undefined>>>;

export interface NicSettings {
  readonly kind: 'bridge' | 'network' | 'direct';
  readonly source: string;
  readonly model: string;
}

/** What a machine is to be, checked. */
export interface MachineSettings {
  readonly arch: string | undefined;
  readonly machineType: string | undefined;
  readonly firmware: Firmware;
  readonly cpuMode: string | undefined;
  /** The processors of the hypervisor that run it, and the NUMA nodes that its memory is on; undefined: any. */
  readonly cpuSet: string | undefined;
  readonly memoryNodes: string | undefined;
  readonly passedDevices: readonly PciAddress[];
  /** Bytes. */
  readonly memory: bigint;
  readonly cpus: number;
  readonly bootOrder: readonly string[];
  readonly nics: readonly NicSettings[];
  readonly macs: readonly string[];
  readonly locations: readonly Location[];
  readonly bus: string;
  readonly format: 'qcow2' | 'raw';
  /** Disks have all their room from the start. */
  readonly isAllocated: boolean;
  readonly cache: string;
  readonly clock: string;
  readonly display: Display | undefined;
}

const defaultMemory = '512';
const leastMemory = 4n * mebi;
/** More than any machine has; libvirt counts with numbers of 64 bits. */
const mostMemory = 1024n * mebi * mebi;
const mostCpus = 4_096;

const bootDevices: Readonly<Record<string, string>> = {
  net: 'network',
  network: 'network',
  n: 'network',
  hd: 'hd',
  c: 'hd',
  cd: 'cdrom',
  cdrom: 'cdrom',
  d: 'cdrom',
  floppy: 'fd',
  fd: 'fd',
  a: 'fd',
};

const word = /^[A-Za-z0-9][\w.-]{0,62}$/;
const macShape = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i;

function wrong(attribute: string, value: string, what: string): Fault {
  const [table, column] = attribute.split('.');
  const named = column === undefined ? `attribute ${attribute}` : `${column} in table ${table}`;
  return new Fault('invalid', `its ${named}, "${value}", is wrong: ${what}.`);
}

const listOf = (text: string | undefined, separator: string): string[] =>
  (text ?? '')
    .split(separator)
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** One of the words that are known, or any word. */
function choice(
  attributes: MachineAttributes,
  name: keyof MachineAttributes,
  known?: readonly string[],
): string | undefined {
  const value = attributes[name];
  if (value === undefined || value === '') return undefined;
  if (known ? !known.includes(value) : !word.test(value)) {
    throw wrong(name, value, known ? `use ${known.join(', ')}` : 'use a single word');
  }
  return value;
}

/** A processor count and a size of memory that were asked for go before those of the attributes. */
export function machineSettings(
  attributes: MachineAttributes,
  asked: { readonly cpus?: string | undefined; readonly memory?: string | undefined } = {},
): MachineSettings {
  const arch = choice(attributes, 'arch');
  const other = otherSettings(attributes.vmothersetting ?? '');
  const firmware = other.firmware ?? (isArm(arch) ? 'uefi' : 'bios');
  // Secure Boot is on no older type, and what has UEFI is new.
  const machineType = other.machine ?? (firmware !== 'bios' && !isArm(arch) ? 'q35' : undefined);
  const flags = virtFlags(attributes.vmvirtflags ?? '');
  const format = choice(attributes, 'vmstorageformat', ['qcow2', 'raw']) as 'qcow2' | 'raw' | undefined;
  return {
    arch,
    machineType,
    firmware,
    cpuMode: other.cpumode,
    cpuSet: other.vcpupin,
    memoryNodes: other.membind,
    passedDevices: other.devpassthrough ?? [],
    memory: memoryOf(asked.memory ?? attributes.vmmemory ?? defaultMemory),
    cpus: cpusOf(asked.cpus ?? attributes.vmcpus ?? '1'),
    bootOrder: bootOrderOf(attributes.vmbootorder ?? 'net,hd'),
    nics: listOf(attributes.vmnics, ',').map((text) => nicOf(text, choice(attributes, 'vmnicnicmodel') ?? 'virtio')),
    macs: macsOf(attributes.mac),
    locations: locationsIn(attributes.vmstorage ?? ''),
    bus: choice(attributes, 'vmstoragemodel', ['ide', 'scsi', 'virtio', 'sata']) ?? usualBus(arch, machineType),
    format: format ?? flags.format ?? 'qcow2',
    isAllocated: format !== 'qcow2' && flags.isAllocated === true,
    cache: choice(attributes, 'vmstoragecache') ?? 'none',
    clock: choice(attributes, 'vm.clockoffset', ['utc', 'localtime']) ?? 'utc',
    display: displayOf(
      choice(attributes, 'vm.vidproto', displayProtocols) as Display['protocol'] | undefined,
      choice(attributes, 'vm.vidmodel'),
      attributes['vm.vidpassword'] || undefined,
    ),
  };
}

const isArm = (arch: string | undefined): boolean => arch === 'aarch64' || arch === 'arm64';

/** IDE, but for types of machines that have none. */
function usualBus(arch: string | undefined, machineType = ''): string {
  if (isArm(arch)) return 'virtio';
  return machineType.includes('q35') ? 'sata' : 'ide';
}

export function memoryOf(text: string): bigint {
  const bytes = bytesOf(text, 'M');
  if (bytes === undefined || bytes < leastMemory) {
    throw new Fault(
      'invalid',
      `"${text}" is not a size of memory: give megabytes, or a number with K, M, G or T, at least 4M.`,
    );
  }
  if (bytes > mostMemory) throw new Fault('invalid', `"${text}" is more memory than a machine can have.`);
  return bytes;
}

export function cpusOf(text: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= mostCpus) return count;
  throw new Fault('invalid', `"${text}" is not a number of processors: give 1 to ${mostCpus}.`);
}

function bootOrderOf(text: string): readonly string[] {
  return listOf(text, ',').map((name) => {
    const device = Object.hasOwn(bootDevices, name) ? bootDevices[name] : undefined;
    if (device === undefined)
      throw wrong('vmbootorder', text, `"${name}" cannot be booted from; use net, hd, cd or floppy`);
    return device;
  });
}

/** `br0`, `br0=e1000`, `eth1|direct`, `default|network`; what stands before a colon is the hypervisor's own interface. */
function nicOf(text: string, usualModel: string): NicSettings {
  const [place = '', model = usualModel] = text.split('=', 2);
  const [name = '', kind = 'bridge'] = place.slice(place.lastIndexOf(':') + 1).split('|', 2);
  const isKnown = kind === 'bridge' || kind === 'network' || kind === 'direct';
  if (!isKnown || !word.test(name) || !word.test(model)) {
    throw wrong('vmnics', text, 'use bridges like br0, br0=e1000, and eth1|direct or name|network');
  }
  return { kind, source: name, model };
}

function macsOf(text: string | undefined): readonly string[] {
  return listOf(text, '|').map((entry) => {
    const [mac = ''] = entry.split('!', 1);
    if (!macShape.test(mac)) throw wrong('mac', text!, `"${mac}" is not a MAC address`);
    return mac.toLowerCase();
  });
}
