import { Fault } from '../../core/errors.ts';
import { diskCapacity } from '../../protocols/libvirt/calls/devices.ts';
import { type Domain, domainState, domainStates, domainXml } from '../../protocols/libvirt/calls/domains.ts';
import { cpusOf, diskSize, inMegabytes, machineSettings, type MachineSettings, memoryOf } from './machine-settings.ts';
import { listSnapshots } from '../../protocols/libvirt/calls/snapshots.ts';
import type { LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import { elementAt, readXml } from '../../protocols/libvirt/xml.ts';
import type { ChangedMachine, KeptMaster, MachineChange } from '../capabilities.ts';
import { changeRunning, changeStopped } from './change-steps.ts';
import { madeHere } from './definition.ts';
import type { Claim } from './disk-claims.ts';
import { refuseUsed } from './disk-users.ts';
import { deviceOn, refuseTooLarge } from './disks.ts';
import type { Hypervisor } from './hypervisor.ts';
import { disksCalledFor, type LeftDisk } from './left-disks.ts';
import { type Location, placeOf } from './locations.ts';
import { hypervisorOf, type Machine } from './machine.ts';
import { refuseMemory } from './new-machine.ts';
import { locationOf, poolAt } from './pools.ts';
import { refuseSaved } from './saved-memory.ts';
import { diskNamed, isMadeFor, type MachineDisk, machineDisks } from './machine-disks.ts';

/** A disk to make. */
export interface NewDisk {
  readonly location: Location;
  readonly bus: string;
  readonly device: string;
  readonly size: bigint;
}

/** A change of one machine, with all values checked against what it is. */
export interface Change {
  readonly machine: Machine;
  readonly hypervisor: Hypervisor;
  readonly domain: Domain;
  /** Muster has made it. */
  readonly isOurs: boolean;
  readonly settings: MachineSettings;
  readonly force: boolean;
  readonly masters: readonly KeptMaster[];
  readonly claim: Claim;
  readonly removing: MachineChange['removing'];
  readonly cpus: number | undefined;
  /** Bytes. */
  readonly memory: bigint | undefined;
  readonly add: readonly NewDisk[];
  readonly resize: readonly { readonly disk: MachineDisk; readonly from: bigint; readonly to: bigint }[];
  readonly purge: readonly MachineDisk[];
  /** To delete too: it had them until a change that was cut off. */
  readonly left: readonly LeftDisk[];
  /** Those that it loses, and that stay. */
  readonly detach: readonly MachineDisk[];
  readonly signal: AbortSignal;
}

export async function changeMachine(
  machine: Machine,
  request: MachineChange,
  signal: AbortSignal,
): Promise<ChangedMachine> {
  const { node } = machine.access;
  const hypervisor = await hypervisorOf(machine, signal);
  return hypervisor.alone(node, signal, async (claim) => {
    const { connection } = hypervisor;
    const domain = await hypervisor.machine(node, signal);
    const { state } = await domainState(connection, domain, { signal });
    await refuseSaved(hypervisor, domain, signal);
    const change = await checked(machine, hypervisor, domain, request, claim, signal);
    await (state === domainStates.off ? changeStopped(change) : changeRunning(change));
    return { lost: [...change.purge, ...change.detach].map(({ path }) => path) };
  });
}

/** Refuses all that can be known to be wrong before anything is done. */
async function checked(
  machine: Machine,
  hypervisor: Hypervisor,
  domain: Domain,
  request: MachineChange,
  claim: Claim,
  signal: AbortSignal,
): Promise<Change> {
  const { node, attributes } = machine.access;
  const { connection } = hypervisor;
  const settings = machineSettings(attributes);
  const cpus = request.cpus === undefined ? undefined : cpusOf(request.cpus);
  const memory = request.memory === undefined ? undefined : memoryOf(request.memory);
  if (memory !== undefined) await refuseMemory(hypervisor, memory, signal);
  const sizes = request.add.map(diskSize);
  const wanted = new Map<string, bigint>();
  for (const [device, bytes] of request.resize.map(resizing)) {
    if (wanted.has(device)) throw new Fault('invalid', `its disk ${device} cannot have two sizes.`);
    wanted.set(device, bytes);
  }
  const both = [...request.purge, ...request.detach].find((device) => wanted.has(device));
  if (both !== undefined) throw new Fault('invalid', `its disk ${both} cannot be resized and removed at once.`);
  const twice = request.purge.find((device) => request.detach.includes(device));
  if (twice !== undefined) throw new Fault('invalid', `its disk ${twice} cannot be deleted and kept at once.`);
  const definitions = await Promise.all(
    (['now', 'next start'] as const).map(async (which) =>
      readXml(await domainXml(connection, domain, which, { signal })),
    ),
  );
  // A machine by another UUID is that of a node which had the name before.
  const isOurs =
    domain.uuid === request.uuid && definitions.some((xml) => elementAt(xml, 'metadata', madeHere) !== undefined);
  const [now, next] = definitions.map((xml) => machineDisks(xml));
  const [gone, kept] = [new Set(request.purge), new Set(request.detach)];
  const isThere = (device: string): boolean => now!.some((disk) => disk.device === device);
  const left = await leftDisks(
    machine,
    hypervisor,
    [...gone].filter((device) => !isThere(device)),
    request.force,
    signal,
  );
  const purge = [...gone]
    .filter((device) => isThere(device) || left.length === 0)
    .map((device) => diskNamed(now!, device));
  const detach = [...kept].map((device) => diskNamed(now!, device));
  refuseStillUsed([...purge, ...detach], purge, now!, next!);
  if (purge.length > 0 && !request.force) await refuseInSnapshots(connection, domain, node, signal);
  // Other programs give files the name of the machine too.
  const foreign = purge.find((disk) => !isOurs || !isMadeFor(node, disk));
  if (foreign && (!request.force || foreign.kind === 'block')) {
    const hope = foreign.kind === 'block' ? 'devices are not deleted' : 'use force to delete it anyway';
    throw new Fault('invalid', `its disk ${foreign.device}, ${foreign.path}, was not made for it; ${hope}.`);
  }
  const resize: { disk: MachineDisk; from: bigint; to: bigint }[] = [];
  for (const [device, to] of wanted) {
    const disk = diskNamed(now!, device);
    if (disk.kind === 'block')
      throw new Fault('invalid', `its disk ${device} is the device ${disk.path}, which cannot be resized.`);
    const from = await diskCapacity(connection, domain, disk.path, { signal });
    if (to < from)
      throw new Fault(
        'invalid',
        `its disk ${device} has ${inMegabytes(from)} and cannot shrink to ${inMegabytes(to)}.`,
      );
    if (to > from) {
      const location = locationOf(disk.path);
      await hypervisor.pools.take(placeOf(location), signal, async () =>
        refuseTooLarge(connection, location, await poolAt(connection, location, signal), to, signal),
      );
      resize.push({ disk, from, to });
    }
  }
  const touched = [...purge, ...resize.map(({ disk }) => disk)].map(({ path }) => path);
  const { force, masters, removing } = request;
  await refuseUsed(hypervisor, { paths: touched, owner: domain, force, masters, claim }, signal);
  // The machine may have one of them as another of its disks.
  await refuseUsed(hypervisor, { paths: left.map(({ path }) => path), force, masters, claim }, signal);
  const add = newDisks(settings, sizes, [...now!, ...next!]);
  return {
    machine,
    hypervisor,
    domain,
    isOurs,
    settings,
    force,
    masters,
    claim,
    removing,
    cpus,
    memory,
    add,
    resize,
    purge,
    left,
    detach,
    signal,
  };
}

/** Disks that the machine has no longer, though they are to be deleted: muster may have died before it did so. */
async function leftDisks(
  { access: { node, attributes } }: Machine,
  hypervisor: Hypervisor,
  devices: readonly string[],
  force: boolean,
  signal: AbortSignal,
): Promise<readonly LeftDisk[]> {
  const found: LeftDisk[] = [];
  for (const device of devices) {
    const left = await disksCalledFor(hypervisor, node, attributes, signal, device);
    if (left.length === 0) return [];
    if (!force)
      throw new Fault('invalid', [
        `it has no disk "${device}", but there is a disk of that name, ${left[0]!.path}, which an earlier change may have left.`,
        'Use force to delete it.',
      ]);
    found.push(...left);
  }
  return found;
}

/** A device may be another disk after the next start, and one disk may be two devices. */
function refuseStillUsed(
  lost: readonly MachineDisk[],
  purge: readonly MachineDisk[],
  now: readonly MachineDisk[],
  next: readonly MachineDisk[],
): void {
  for (const { device, path } of lost) {
    const later = next.find((disk) => disk.device === device);
    if (later && later.path !== path)
      throw new Fault(
        'invalid',
        `its disk ${device} is ${path} while it runs, and ${later.path} after its next start: switch it off first.`,
      );
  }
  const devices = new Set(lost.map(({ device }) => device));
  for (const { device, path } of purge) {
    const other = [...now, ...next].find((disk) => disk.path === path && !devices.has(disk.device));
    if (other) throw new Fault('invalid', `its disk ${device}, ${path}, is its disk ${other.device} too.`);
  }
}

/** A snapshot is in all disks that the machine had then: without one of them nobody can return to it. */
async function refuseInSnapshots(
  connection: LibvirtConnection,
  domain: Domain,
  node: string,
  signal: AbortSignal,
): Promise<void> {
  const snapshots = await listSnapshots(connection, domain, { signal });
  if (snapshots.length === 0) return;
  throw new Fault('invalid', [
    `it has snapshots (${snapshots.map(({ name }) => name).join(', ')}), which need its disks.`,
    `Delete them first with DELETE /nodes/${node}/snapshots, or use force.`,
  ]);
}

function resizing(text: string): readonly [string, bigint] {
  const [device, size, ...more] = text.split('=');
  if (!device || size === undefined || more.length > 0) {
    throw new Fault(
      'invalid',
      `"${text}" is not a new size of a disk: use the name of its device and the size, as in vdb=20.`,
    );
  }
  return [device, diskSize(size)];
}

/** In the last place that disks can be made in, under the first names that are free. */
function newDisks(
  settings: MachineSettings,
  sizes: readonly bigint[],
  taken: readonly MachineDisk[],
): readonly NewDisk[] {
  if (sizes.length === 0) return [];
  const location = settings.locations.findLast(({ kind }) => kind === 'directory' || kind === 'pool');
  if (!location) {
    throw new Fault(
      'invalid',
      'its attribute vmstorage names neither a directory nor a pool, so muster does not know where to make its disk.',
    );
  }
  const bus = location.bus ?? settings.bus;
  const used = new Set(taken.map(({ device }) => device));
  return sizes.map((size) => {
    for (let number = 0; ; number++) {
      const device = deviceOn(bus, number);
      if (device === undefined) throw new Fault('invalid', `it has more disks than the model ${bus} takes.`);
      if (used.has(device)) continue;
      used.add(device);
      return { location, bus, device, size };
    }
  });
}
