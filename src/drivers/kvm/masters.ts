import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { pause } from '../../core/waiting.ts';
import { copyDisk, copyProgress, diskCapacity, endCopy } from '../../protocols/libvirt/calls/devices.ts';
import {
  type Domain,
  domainState,
  domainStates,
  domainXml,
  resumeDomain,
  suspendDomain,
} from '../../protocols/libvirt/calls/domains.ts';
import { listVolumes, type Volume, volumePath, volumeSize } from '../../protocols/libvirt/calls/storage.ts';
import { LibvirtFault } from '../../protocols/libvirt/faults.ts';
import { element, elementAt, readXml, textOf, writeXml } from '../../protocols/libvirt/xml.ts';
import type { CloneRequest, MadeMachine, Master, MasterRequest, Progress } from '../capabilities.ts';
import type { Disk } from './definition.ts';
import { formAt, volumeIn, volumeOfDisk } from './disks.ts';
import type { Claim } from './disk-claims.ts';
import type { Hypervisor } from './hypervisor.ts';
import { goOn } from './left-paused.ts';
import { type Location, locationsIn, placeOf } from './locations.ts';
import { type MachineDisk, machineDisks } from './machine-disks.ts';
import { inMegabytes, type MachineAttributes, machineSettings, type MachineSettings } from './machine-settings.ts';
import { hypervisorOf, type Machine, type Undo, undone } from './machine.ts';
import { type DiskMaker, makeMachine } from './new-machine.ts';
import { isMark, markOf, unmarkAll } from './partial-disks.ts';
import { locationOf, poolAt, volumeAt } from './pools.ts';
import { noteWork, removeNote } from './unfinished-work.ts';

/** Disks that others can be based on. */
const masterFormat = 'qcow2';
const poll = 250;

interface Work {
  readonly machine: Machine;
  readonly hypervisor: Hypervisor;
  readonly domain: Domain;
  readonly name: string;
  /** Where the master's disks are made: beside the first of the machine's. */
  readonly directory: string;
  /** Disks of its name that are there are replaced, if nobody uses them. */
  readonly replace: MasterRequest['replace'];
  readonly claim: Claim;
  readonly request: string;
  readonly removing: MasterRequest['removing'];
  readonly tell: Progress;
  readonly signal: AbortSignal;
}

export async function makeMaster(
  machine: Machine,
  { name, force, replace, removing }: MasterRequest,
  tell: Progress,
  signal: AbortSignal,
): Promise<Master & { readonly message: string }> {
  const { node } = machine.access;
  const hypervisor = await hypervisorOf(machine, signal);
  return hypervisor.lengthy.take('', signal, () =>
    hypervisor.alone(node, signal, async (claim, request) => {
      const { connection } = hypervisor;
      const domain = await hypervisor.machine(node, signal);
      const { state } = await domainState(connection, domain, { signal });
      const isOff = state === domainStates.off;
      if (!isOff && !force) {
        throw new Fault('invalid', 'it is on; switch it off first, or use force to copy its disks while it runs.');
      }
      const disks = machineDisks(readXml(await domainXml(connection, domain, 'now', { signal })));
      const [first] = disks;
      const device = disks.find(({ kind }) => kind === 'block');
      if (!first) throw new Fault('invalid', 'it has no disk that a master could be made of.');
      if (device)
        throw new Fault(
          'invalid',
          `its disk ${device.device} is the device ${device.path}: masters are made of files.`,
        );
      const work = {
        machine,
        hypervisor,
        domain,
        name,
        directory: posix.dirname(first.path),
        replace,
        claim,
        request,
        removing,
        tell,
        signal,
      };
      // Two requests may make masters of one name, of machines whose disks have other names.
      await claim(hypervisor, [posix.join(work.directory, name)], signal);
      if (replace !== true) await refuseNamedAlike(work);
      const undo: Undo[] = [];
      try {
        const volumes = await (isOff ? copyStopped(work, disks, undo) : copyRunning(work, disks, state, undo));
        const definition = oneLine(await domainXml(connection, domain, 'next start', { signal }));
        const storage = `dir://${work.directory}`;
        await unmarkAll(
          hypervisor,
          volumes.map(({ key: path }) => ({ path, kind: 'file' })),
          signal,
        );
        return {
          name,
          storage,
          storageModel: first.bus,
          definition,
          message: await cloned(hypervisor, disks, volumes, signal),
        };
      } catch (error) {
        throw await undone(error, undo, machine, `Some of the master ${name} could not be removed:`);
      }
    }),
  );
}

/** A file that is there already and is called like disks of the master would be taken for one of them, whosever it is. */
async function refuseNamedAlike({ hypervisor, name, directory, replace, signal }: Work): Promise<void> {
  const { connection, pools, host } = hypervisor;
  const location = locationOf(posix.join(directory, name));
  const volumes = await pools.take(placeOf(location), signal, async () =>
    listVolumes(connection, await poolAt(connection, location, signal), { signal }),
  );
  const names = new Set(volumes.map((volume) => volume.name));
  const isLeft = (file: string): boolean => isMark(file) || names.has(markOf(file));
  const other = volumes.find((volume) => volume.name.startsWith(`${name}.`) && !isLeft(volume.name));
  if (!other) return;
  const there = `there is a disk ${posix.join(directory, other.name)} on ${host} already`;
  if (replace === 'denied')
    throw new Fault('denied', [
      `${there}, which belongs to none of your nodes: give the master another name.`,
      'To replace it, this account needs a policy rule for clonevm without a noderange.',
    ]);
  throw new Fault(
    'invalid',
    `${there}; give the master another name, or use force, which replaces disks of the same name that nobody uses.`,
  );
}

/** Values of tables are of one line. */
const oneLine = (xml: string): string =>
  xml
    .replaceAll(/>\s+</g, '><')
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim();

/** As the reference system says it. */
async function cloned(
  { connection }: Hypervisor,
  disks: readonly Pick<MachineDisk, 'path'>[],
  volumes: readonly Volume[],
  signal: AbortSignal,
): Promise<string> {
  const sizes = await Promise.all(volumes.map((volume) => volumeSize(connection, volume, { signal })));
  const [uses, size] = (['allocation', 'capacity'] as const).map((which) =>
    inMegabytes(sizes.reduce((sum, each) => sum + each[which], 0n)),
  );
  return `Cloning of ${disks.map(({ path }) => posix.basename(path)).join(', ')} complete (clone uses ${uses} for a disk size of ${size})`;
}

const diskOfMaster = (master: string, { device }: Pick<MachineDisk, 'device'>): string =>
  `${master}.${device}.${masterFormat}`;

/** An empty disk of the master, or one that holds what another does. */
async function masterDisk(
  { hypervisor, domain, name, directory, replace, claim, removing, tell, signal }: Work,
  disk: MachineDisk,
  copyOf: Volume | undefined,
  undo: Undo[],
): Promise<Volume> {
  const size = await diskCapacity(hypervisor.connection, domain, disk.path, { signal });
  tell(`Cloning ${posix.basename(disk.path)} (has a capacity of ${inMegabytes(size)})`);
  const request = {
    name: diskOfMaster(name, disk),
    size,
    format: masterFormat,
    force: replace === true,
    claim,
    removing,
    masters: [],
    copyOf,
  };
  const location = locationOf(posix.join(directory, request.name));
  const path = await volumeIn(hypervisor, location, request, undo, signal);
  return (await volumeAt(hypervisor, path!, signal))!;
}

async function copyStopped(work: Work, disks: readonly MachineDisk[], undo: Undo[]): Promise<readonly Volume[]> {
  const made: Volume[] = [];
  for (const disk of disks) {
    const source = await volumeOfDisk(work.hypervisor, disk, work.signal);
    made.push(await masterDisk(work, disk, source, undo));
  }
  return made;
}

/** Everything written goes to both until all is copied; then the machine stands still for the moment that the copies are of. */
async function copyRunning(
  work: Work,
  disks: readonly MachineDisk[],
  state: number,
  undo: Undo[],
): Promise<readonly Volume[]> {
  const { hypervisor, domain, tell, signal } = work;
  const { connection } = hypervisor;
  const staysPaused = state === domainStates.paused;
  undo.push((at, later) => removeNote(at.connection, domain, later));
  const was = staysPaused ? 'paused' : 'running';
  await noteWork(connection, domain, { request: work.request, command: 'clonevm', was }, signal);
  const made: Volume[] = [];
  for (const disk of disks) {
    const volume = await masterDisk(work, disk, undefined, undo);
    made.push(volume);
    undo.push(async (at, later) => {
      if (await copyProgress(at.connection, domain, disk.device, { signal: later }))
        await endCopy(at.connection, domain, disk.device, { signal: later });
    });
    const xml = element(
      'disk',
      { type: 'file' },
      element('driver', { name: 'qemu', type: masterFormat }),
      element('source', { file: volume.key }),
    );
    await beginCopy(work, disk.device, writeXml(xml));
  }
  for (const disk of disks) await copyComplete(work, disk, tell);
  if (staysPaused) {
    for (const { device } of disks) await endCopy(connection, domain, device, { signal });
  } else {
    undo.push((at, later) => goOn(at, domain, later));
    await suspendDomain(connection, domain, { signal });
    for (const { device } of disks) await endCopy(connection, domain, device, { signal });
    await resumeDomain(connection, domain, { signal });
    undo.pop();
  }
  await removeNote(connection, domain, signal);
  return made;
}

const mostAttempts = 16;

/** A libvirtd that died while it copied has forgotten names that QEMU still holds; each attempt takes the next one. */
async function beginCopy({ hypervisor, domain, signal }: Work, device: string, xml: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await copyDisk(hypervisor.connection, domain, device, xml, { signal });
      return;
    } catch (error) {
      const isKnown = error instanceof LibvirtFault && error.message.includes('Duplicate nodes with node-name');
      if (!isKnown || attempt === mostAttempts) throw error;
    }
  }
}

async function copyComplete(
  { hypervisor: { connection }, domain, signal }: Work,
  { device, path }: MachineDisk,
  tell: Progress,
): Promise<void> {
  for (;;) {
    const progress = await copyProgress(connection, domain, device, { signal });
    if (!progress)
      throw new Fault('invalid', `libvirt ended the copy of its disk ${device} early; check the free space there.`);
    const { done, of } = progress;
    if (of > 0n && done === of) return;
    tell(`Cloning ${posix.basename(path)}: ${inMegabytes(done)} of ${inMegabytes(of)}`);
    await pause(poll, signal);
  }
}

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
  { master, detach, force, masters, uuid, lastHost, removing }: CloneRequest,
  tell: Progress,
  signal: AbortSignal,
): Promise<MadeMachine & { readonly message: string }> {
  const { node, attributes } = machine.access;
  const settings = machineSettings(attributes, sizesOf(master, attributes));
  const hypervisor = await hypervisorOf(machine, signal);
  let sources: readonly MasterDisk[] = [];
  const made: Volume[] = [];
  const disks: DiskMaker = async (at, undo, claim) => {
    sources = await disksOfMaster(at, master, signal);
    const location = settings.locations.findLast(isRoomy) ?? locationsIn(master.storage).find(isRoomy)!;
    const all: Disk[] = [];
    for (const source of sources) {
      tell(`Cloning ${posix.basename(source.path)} (has a capacity of ${inMegabytes(source.size)})`);
      const disk = await diskFrom(
        at,
        { node, source, location, settings, master, detach, force, masters, claim, removing },
        undo,
        signal,
      );
      made.push((await volumeAt(at, disk.path, signal))!);
      all.push(disk);
    }
    return all;
  };
  // One that is based on another is there at once.
  const make = () => makeMachine(machine, { uuid, lastHost, force, settings, disks }, signal);
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
  // A file that is called like one of its disks is none of it. Masters that others made have no definition that says so.
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

interface CloneDisk extends Pick<CloneRequest, 'master' | 'detach' | 'force' | 'masters' | 'removing'> {
  readonly claim: Claim;
  readonly node: string;
  readonly source: MasterDisk;
  readonly location: Location;
  readonly settings: MachineSettings;
}

async function diskFrom(
  hypervisor: Hypervisor,
  { node, source, location, settings, master, detach, force, masters, claim, removing }: CloneDisk,
  undo: Undo[],
  signal: AbortSignal,
): Promise<Disk> {
  const { device, size, path: from, volume } = source;
  const format = detach ? settings.format : masterFormat;
  const kept = detach
    ? { copyOf: volume, isAllocated: settings.isAllocated }
    : { backing: { path: from, format: masterFormat } };
  const request = { name: `${node}.${device}.${format}`, size, format, force, masters, claim, removing, ...kept };
  const { kind } = await formAt(hypervisor, location, format, signal);
  if (kind === 'block')
    throw new Fault(
      'invalid',
      `a clone cannot be made in ${placeOf(location)}, which holds devices: set vmstorage to a directory.`,
    );
  const path = await volumeIn(hypervisor, location, request, undo, signal);
  const bus = buses[device.slice(0, 2)] ?? master.storageModel ?? settings.bus;
  return { path: path!, kind, format, device, bus };
}
