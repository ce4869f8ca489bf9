import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { listVolumes, type Volume, volumePath, volumeSize } from '../../protocols/libvirt/calls/storage.ts';
import { elementAt, readXml, textOf } from '../../protocols/libvirt/xml.ts';
import type { CloneRequest, MadeMachine, Master, Progress } from '../capabilities.ts';
import type { Disk } from './definition.ts';
import { placeOf, poolAt, volumeAt, volumeIn } from './disks.ts';
import type { Hypervisor } from './hypervisor.ts';
import { type Location, locationsIn } from './locations.ts';
import { hypervisorOf, type Machine } from './machine.ts';
import { machineDisks } from './machine-disks.ts';
import { type MachineAttributes, machineSettings, type MachineSettings } from './machine-settings.ts';
import { cloned, masterFormat } from './make-master.ts';
import { makeMachine } from './new-machine.ts';
import { inMegabytes } from './sizes.ts';
import type { Undo } from './undo.ts';

/** A disk of a master. */
interface MasterDisk {
  readonly volume: Volume;
  readonly device: string;
  readonly path: string;
  readonly size: bigint;
}

const buses: Readonly<Record<string, string>> = { hd: 'ide', vd: 'virtio' };
const deviceShape = /^[hsv]d[a-z]$/;

export async function cloneMachine(
  machine: Machine,
  { master, detach, force, uuid, removing }: CloneRequest,
  tell: Progress,
  signal: AbortSignal,
): Promise<MadeMachine & { readonly message: string }> {
  const { node, attributes } = machine.access;
  const settings = machineSettings(attributes, sizesOf(master, attributes));
  const hypervisor = await hypervisorOf(machine, signal);
  let sources: readonly MasterDisk[] = [];
  const made: Volume[] = [];
  const disks = async (at: Hypervisor, undo: Undo[]): Promise<readonly Disk[]> => {
    sources = await disksOfMaster(at, master, signal);
    const location = settings.locations.findLast(isRoomy) ?? locationsIn(master.storage).find(isRoomy)!;
    const all: Disk[] = [];
    for (const source of sources) {
      tell(`Cloning ${posix.basename(source.path)} (has a capacity of ${inMegabytes(source.size)})`);
      const disk = await diskFrom(
        at,
        { node, source, location, settings, master, detach, force, removing },
        undo,
        signal,
      );
      made.push((await volumeAt(at, disk.path, signal))!);
      all.push(disk);
    }
    return all;
  };
  // One that is based on another is there at once.
  const make = () => makeMachine(machine, { uuid, settings, disks }, signal);
  const identity = await (detach ? hypervisor.lengthy.take('', signal, make) : make());
  return { ...identity, message: await cloned(hypervisor, sources, made, signal) };
}

const isRoomy = ({ kind }: Location): boolean => kind === 'directory' || kind === 'pool';

/** What the machine had that the master was made of, where attributes say nothing. */
function sizesOf(
  { definition }: Master,
  { vmcpus, vmmemory }: MachineAttributes,
): { cpus?: string | undefined; memory?: string | undefined } {
  const domain = definition === undefined ? undefined : readXml(definition);
  const vcpu = domain && elementAt(domain, 'vcpu');
  const kibibytes = domain && textOf(elementAt(domain, 'memory'));
  return {
    cpus: vmcpus ?? vcpu?.attributes['current'] ?? textOf(vcpu),
    memory: vmmemory ?? (kibibytes && `${kibibytes}K`),
  };
}

async function disksOfMaster(
  hypervisor: Hypervisor,
  { name, storage, definition }: Master,
  signal: AbortSignal,
): Promise<readonly MasterDisk[]> {
  const { connection, pools, host } = hypervisor;
  // A file that is called like one of its disks is none of it. Masters that others made have no definition to tell.
  const devices = definition === undefined ? undefined : machineDisks(readXml(definition)).map((disk) => disk.device);
  const found: MasterDisk[] = [];
  for (const location of locationsIn(storage).filter(isRoomy)) {
    const volumes = await pools.take(placeOf(location), signal, async () =>
      listVolumes(connection, await poolAt(connection, location, signal), { signal }),
    );
    for (const volume of volumes) {
      const [owner, device = '', format, ...more] = volume.name.split('.');
      if (owner !== name || !deviceShape.test(device) || format !== masterFormat || more.length > 0) continue;
      if (devices && !devices.includes(device)) continue;
      const { capacity: size } = await volumeSize(connection, volume, { signal });
      found.push({ volume, device, size, path: await volumePath(connection, volume, { signal }) });
    }
  }
  if (found.length === 0)
    throw new Fault('invalid', `the disks of the master ${name} are not on ${host}, in ${storage}.`);
  return found.toSorted((a, b) => a.device.localeCompare(b.device));
}

interface CloneDisk extends Pick<CloneRequest, 'master' | 'detach' | 'force' | 'removing'> {
  readonly node: string;
  readonly source: MasterDisk;
  readonly location: Location;
  readonly settings: MachineSettings;
}

async function diskFrom(
  hypervisor: Hypervisor,
  { node, source, location, settings, master, detach, force, removing }: CloneDisk,
  undo: Undo[],
  signal: AbortSignal,
): Promise<Disk> {
  const { device, size, path: from, volume } = source;
  const format = detach ? settings.format : masterFormat;
  const kept = detach
    ? { copyOf: volume, isAllocated: settings.isAllocated }
    : { backing: { path: from, format: masterFormat } };
  const request = { name: `${node}.${device}.${format}`, size, format, force, removing, ...kept };
  const path = await volumeIn(hypervisor, location, request, undo, signal);
  const bus = buses[device.slice(0, 2)] ?? master.storageModel ?? settings.bus;
  return { path: path!, kind: 'file', format, device, bus };
}
