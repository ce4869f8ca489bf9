import { Fault } from '../../core/errors.ts';
import { diskCapacity } from '../../protocols/libvirt/calls/devices.ts';
import { type Domain, domainState, domainStates, domainXml } from '../../protocols/libvirt/calls/domains.ts';
import { cpusOf, diskSize, inMegabytes, machineSettings, type MachineSettings, memoryOf } from './machine-settings.ts';
import { readXml } from '../../protocols/libvirt/xml.ts';
import type { ChangedMachine, MachineChange } from '../capabilities.ts';
import { changeRunning, changeStopped } from './change-steps.ts';
import { deviceOn } from './disks.ts';
import type { Hypervisor } from './hypervisor.ts';
import type { Location } from './locations.ts';
import { hypervisorOf, type Machine } from './machine.ts';
import { diskNamed, isMadeFor, type MachineDisk, machineDisks, refuseInUse } from './machine-disks.ts';

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
  readonly settings: MachineSettings;
  readonly force: boolean;
  readonly removing: MachineChange['removing'];
  readonly cpus: number | undefined;
  /** Bytes. */
  readonly memory: bigint | undefined;
  readonly add: readonly NewDisk[];
  readonly resize: readonly { readonly disk: MachineDisk; readonly from: bigint; readonly to: bigint }[];
  readonly purge: readonly MachineDisk[];
  readonly signal: AbortSignal;
}

export async function changeMachine(
  machine: Machine,
  request: MachineChange,
  signal: AbortSignal,
): Promise<ChangedMachine> {
  const { node } = machine.access;
  const hypervisor = await hypervisorOf(machine, signal);
  return hypervisor.machines.take(node, signal, async () => {
    const { connection } = hypervisor;
    const domain = await hypervisor.machine(node, signal);
    const { state } = await domainState(connection, domain, { signal });
    const change = await checked(machine, hypervisor, domain, request, signal);
    await (state === domainStates.off ? changeStopped(change) : changeRunning(change));
    return { deleted: change.purge.map(({ path }) => path) };
  });
}

/** Refuses all that can be known to be wrong before anything is done. */
async function checked(
  machine: Machine,
  hypervisor: Hypervisor,
  domain: Domain,
  request: MachineChange,
  signal: AbortSignal,
): Promise<Change> {
  const { node, attributes } = machine.access;
  const { connection } = hypervisor;
  const settings = machineSettings(attributes);
  const cpus = request.cpus === undefined ? undefined : cpusOf(request.cpus);
  const memory = request.memory === undefined ? undefined : memoryOf(request.memory);
  const sizes = request.add.map(diskSize);
  const wanted = new Map<string, bigint>();
  for (const [device, bytes] of request.resize.map(resizing)) {
    if (wanted.has(device)) throw new Fault('invalid', `its disk ${device} cannot have two sizes.`);
    wanted.set(device, bytes);
  }
  const both = request.purge.find((device) => wanted.has(device));
  if (both !== undefined) throw new Fault('invalid', `its disk ${both} cannot be resized and deleted at once.`);
  const [now, next] = await Promise.all(
    (['now', 'next start'] as const).map(async (which) =>
      machineDisks(readXml(await domainXml(connection, domain, which, { signal }))),
    ),
  );
  const purge = [...new Set(request.purge)].map((device) => diskNamed(now!, device));
  const foreign = purge.find((disk) => !isMadeFor(node, disk));
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
    if (to > from) resize.push({ disk, from, to });
  }
  const touched = [...purge, ...resize.map(({ disk }) => disk)].map(({ path }) => path);
  await refuseInUse(connection, touched, domain, signal);
  const add = newDisks(settings, sizes, [...now!, ...next!]);
  const { force, removing } = request;
  return { machine, hypervisor, domain, settings, force, removing, cpus, memory, add, resize, purge, signal };
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
