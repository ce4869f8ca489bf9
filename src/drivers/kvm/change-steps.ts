import { Fault } from '../../core/errors.ts';
import { pause, within } from '../../core/waiting.ts';
import {
  type Affects,
  affects,
  attachDevice,
  detachDevice,
  resizeDisk,
  setMemory,
  setProcessors,
} from '../../protocols/libvirt/calls/devices.ts';
import {
  defineDomain,
  type Domain,
  domainStatistics,
  domainXml,
  statistics,
} from '../../protocols/libvirt/calls/domains.ts';
import { deleteVolume, resizeVolume, type Volume } from '../../protocols/libvirt/calls/storage.ts';
import { type Element, element, elementAt, readXml, textOf, writeXml } from '../../protocols/libvirt/xml.ts';
import type { Change, NewDisk } from './change.ts';
import { type Disk, diskOf } from './definition.ts';
import { formAt, volumeIn, volumeOfDisk } from './disks.ts';
import type { Hypervisor } from './hypervisor.ts';
import { devicesOf, isNamedFor, type MachineDisk, machineDisks } from './machine-disks.ts';
import { inMegabytes } from './machine-settings.ts';
import { type Undo, undone } from './machine.ts';
import { unmarkAll } from './partial-disks.ts';
import { diskTimeout, volumeAt } from './pools.ts';

/** One new definition has all of it; what is deleted is deleted when nothing can fail any more. */
export async function changeStopped(change: Change): Promise<void> {
  const { machine, hypervisor, domain, settings, purge, signal } = change;
  const { connection } = hypervisor;
  const before = await domainXml(connection, domain, 'to define again', { signal });
  const undo: Undo[] = [];
  let doomed: readonly Volume[] = [];
  try {
    const disks: Disk[] = [];
    for (const disk of change.add) disks.push(await makeDisk(change, disk, undo));
    for (const { disk, from, to } of change.resize) {
      undo.push(async (at, later) => setSize(at, disk, from, 'shrink', later));
      await setSize(hypervisor, disk, to, 'grow', signal);
    }
    doomed = await volumesOf(hypervisor, purge, signal);
    await unmarkAll(hypervisor, disks, signal);
    const after = redefined(
      readXml(before),
      change,
      disks.map((disk) => diskOf(disk, settings.cache)),
    );
    undo.push(async (at, later) => void (await defineDomain(at.connection, before, { signal: later })));
    await defineDomain(connection, writeXml(after), { signal });
  } catch (error) {
    throw await undone(error, undo, machine, keptWords);
  }
  await deleteDisks(change, doomed);
}

const keptWords = 'Not everything could be undone:';

/** A disk of its own in the place that was chosen for it. */
async function makeDisk(
  { machine, hypervisor, settings: { format, isAllocated }, force, masters, claim, removing, signal }: Change,
  { location, bus, device, size }: NewDisk,
  undo: Undo[],
): Promise<Disk> {
  const form = await formAt(hypervisor, location, format, signal);
  const name = `${machine.access.node}.${device}.${form.format}`;
  const request = { name, size, ...form, isAllocated, force, masters, claim, removing };
  const path = await volumeIn(hypervisor, location, request, undo, signal);
  return { path: path!, ...form, device, bus };
}

async function setSize(
  hypervisor: Hypervisor,
  disk: MachineDisk,
  bytes: bigint,
  how: 'grow' | 'shrink',
  signal: AbortSignal,
): Promise<void> {
  const volume = await volumeOfDisk(hypervisor, disk, signal);
  await resizeVolume(hypervisor.connection, volume, bytes, how, { signal, timeout: diskTimeout });
}

/** What is to be deleted of disks; one that is not there is deleted already. */
export async function volumesOf(
  hypervisor: Hypervisor,
  disks: readonly MachineDisk[],
  signal: AbortSignal,
): Promise<readonly Volume[]> {
  const found: Volume[] = [];
  for (const { path } of disks) {
    const volume = await volumeAt(hypervisor, path, signal);
    if (volume) found.push(volume);
  }
  return found;
}

/** Of disks that the machine has no longer. */
async function deleteDisks(
  { machine, hypervisor, isOurs, left: earlier, removing, signal }: Change,
  volumes: readonly Volume[],
): Promise<void> {
  const { connection } = hypervisor;
  const left: string[] = [];
  for (const volume of [...volumes, ...earlier.map((disk) => disk.volume)]) {
    if (!isOurs || !isNamedFor(machine.access.node, volume.key))
      removing?.(`the disk ${volume.key} on ${connection.where}`);
    try {
      await deleteVolume(connection, volume, { signal, timeout: diskTimeout });
    } catch (error) {
      left.push(`Its disk ${volume.key} is no longer its own, but could not be deleted: ${(error as Error).message}`);
    }
  }
  await unmarkAll(hypervisor, earlier, signal);
  if (left.length > 0) throw new Fault('invalid', ['everything else was done.', ...left]);
}

function redefined(domain: Element, { cpus, memory, purge, detach }: Change, added: readonly Element[]): Element {
  const gone = new Set([...purge, ...detach].map(({ device }) => device));
  const change = (child: Element | string): readonly (Element | string)[] => {
    if (typeof child === 'string') return [child];
    if (memory !== undefined && child.name === 'memory') {
      const size = String(memory);
      return [element('memory', { unit: 'B' }, size), element('currentMemory', { unit: 'B' }, size)];
    }
    if (memory !== undefined && child.name === 'currentMemory') return [];
    if (cpus !== undefined && child.name === 'vcpu') return [processors(child, cpus)];
    // It lists processors one by one; without it libvirt does.
    if (cpus !== undefined && child.name === 'vcpus') return [];
    if (child.name !== 'devices') return [child];
    const kept = child.children.filter(
      (device) =>
        typeof device === 'string' ||
        device.name !== 'disk' ||
        !gone.has(elementAt(device, 'target')?.attributes['dev'] ?? ''),
    );
    return [{ ...child, children: [...kept, ...added] }];
  };
  return { ...domain, children: domain.children.flatMap((child) => change(child)) };
}

/** Room for as many as it had leaves a way to give them back while it runs; the guest sees those it has. */
function processors(vcpu: Element, count: number): Element {
  const most = Math.max(count, Number(textOf(vcpu)) || 0);
  const { current: _, ...attributes } = vcpu.attributes;
  return element('vcpu', { ...attributes, current: most > count ? String(count) : undefined }, String(most));
}

/** Disks of these models are there from the start until the end. */
const fixed: readonly string[] = ['ide', 'sata', 'fdc'];
const kibi = 1024n;
const poll = 250;
const offFirst = 'switch it off first';

/** Both the machine that runs and its definition, step by step; what is deleted is deleted when nothing can fail any more. */
export async function changeRunning(change: Change): Promise<void> {
  const { machine, hypervisor, domain, purge, detach, signal } = change;
  const running = readXml(await domainXml(hypervisor.connection, domain, 'now', { signal }));
  refuseUnlessOff(change, running);
  const undo: Undo[] = [];
  const doomed = await volumesOf(hypervisor, purge, signal);
  try {
    if (change.memory !== undefined) await giveMemory(change, change.memory, running, undo);
    if (change.cpus !== undefined) await giveProcessors(change, change.cpus, running, undo);
    for (const disk of change.add) await addDisk(change, disk, undo);
    for (const disk of [...purge, ...detach]) await takeDisk(change, disk, undo);
    for (const { disk, to } of change.resize) {
      await resizeDisk(hypervisor.connection, domain, disk.path, to, { signal, timeout: diskTimeout });
      undo.push(() => Promise.reject(new Fault('invalid', `its disk ${disk.device} has grown to ${inMegabytes(to)}.`)));
    }
  } catch (error) {
    throw await undone(error, undo, machine, keptWords);
  }
  await deleteDisks(change, doomed);
}

/** What is known not to be possible while it runs. */
function refuseUnlessOff({ memory, cpus, add, purge, detach }: Change, running: Element): void {
  const most = BigInt(textOf(elementAt(running, 'memory')) ?? 0) * kibi;
  if (memory !== undefined && memory > most) {
    throw new Fault('invalid', `it is on, and was started with ${inMegabytes(most)}: for more memory ${offFirst}.`);
  }
  const model = elementAt(devicesOf(running), 'memballoon')?.attributes['model'] ?? 'none';
  if (memory !== undefined && model === 'none' && memory !== current(running)) {
    throw new Fault('invalid', `it is on, and has no balloon to change its memory by: ${offFirst}.`);
  }
  const places = Number(textOf(elementAt(running, 'vcpu')));
  if (cpus !== undefined && cpus > places) {
    throw new Fault('invalid', `it is on, and was started with at most ${places} processors: for more ${offFirst}.`);
  }
  const stuck = [...add, ...purge, ...detach].find(({ bus }) => fixed.includes(bus));
  if (stuck) {
    throw new Fault(
      'invalid',
      `it is on, and disks of the model ${stuck.bus} can be added or removed only while it is off: ${offFirst}.`,
    );
  }
}

const current = (running: Element): bigint =>
  BigInt(textOf(elementAt(running, 'currentMemory')) ?? textOf(elementAt(running, 'memory')) ?? 0) * kibi;

async function giveMemory(change: Change, bytes: bigint, running: Element, undo: Undo[]): Promise<void> {
  const { hypervisor, domain, signal } = change;
  const before = current(running);
  if (bytes === before) return;
  undo.push((at, later) => setMemory(at.connection, domain, before / kibi, affects.both, { signal: later }));
  await setMemory(hypervisor.connection, domain, bytes / kibi, affects.both, { signal });
  let seen = before;
  const late = (): Fault =>
    new Fault(
      'invalid',
      `its guest has not changed its memory to ${inMegabytes(bytes)}: it has ${inMegabytes(seen)}. If it has no driver for the balloon, ${offFirst}.`,
    );
  await until(change, late, async (connection, inTime) => {
    const [found] = await domainStatistics(connection, statistics.balloon, [domain], { signal: inTime });
    seen = BigInt(found?.values.get('balloon.current') ?? 0) * kibi;
    return seen / kibi === bytes / kibi;
  });
}

async function giveProcessors(change: Change, count: number, running: Element, undo: Undo[]): Promise<void> {
  const { hypervisor, domain, signal, machine } = change;
  const vcpu = elementAt(running, 'vcpu');
  const before = Number(vcpu?.attributes['current'] ?? textOf(vcpu));
  if (count === before) return;
  undo.push((at, later) => setProcessors(at.connection, domain, before, affects.both, { signal: later }));
  await setProcessors(hypervisor.connection, domain, count, affects.both, { signal, timeout: machine.powerTimeout });
}

async function addDisk(change: Change, disk: NewDisk, undo: Undo[]): Promise<void> {
  const { hypervisor, domain, settings, signal } = change;
  const made = await makeDisk(change, disk, undo);
  const xml = writeXml(diskOf(made, settings.cache));
  undo.push(async (at, later) => {
    for (const what of [affects.running, affects.definition]) await release(change, at, made.device, what, later);
  });
  await unmarkAll(hypervisor, [made], signal);
  await attachDevice(hypervisor.connection, domain, xml, affects.both, { signal });
}

async function takeDisk(change: Change, { device, element: taken }: MachineDisk, undo: Undo[]): Promise<void> {
  const { hypervisor, domain, signal } = change;
  for (const what of [affects.running, affects.definition]) {
    undo.push(async (at, later) => {
      if (await diskIn(at, domain, device, what, later)) return;
      await attachDevice(at.connection, domain, writeXml(taken), what, { signal: later });
    });
    await release(change, hypervisor, device, what, signal);
  }
}

const diskIn = async (
  { connection }: Hypervisor,
  domain: Domain,
  device: string,
  what: Affects,
  signal: AbortSignal,
): Promise<MachineDisk | undefined> => {
  const which = what === affects.running ? 'now' : 'next start';
  const xml = readXml(await domainXml(connection, domain, which, { signal }));
  return machineDisks(xml).find((disk) => disk.device === device);
};

/** Resolves when the disk is gone; the guest has to let go of it. */
async function release(
  change: Change,
  hypervisor: Hypervisor,
  device: string,
  what: Affects,
  signal: AbortSignal,
): Promise<void> {
  const { domain } = change;
  const disk = await diskIn(hypervisor, domain, device, what, signal);
  if (!disk) return;
  await detachDevice(hypervisor.connection, domain, writeXml(disk.element), what, { signal });
  const late = (): Fault =>
    new Fault(
      'invalid',
      `its guest has not released the disk ${device} in time and may do so later: look again, or ${offFirst}.`,
    );
  await until(
    change,
    late,
    async (_connection, inTime) => !(await diskIn(hypervisor, domain, device, what, inTime)),
    signal,
  );
}

async function until(
  { machine, hypervisor, signal: usual }: Change,
  late: () => Fault,
  isDone: (connection: Hypervisor['connection'], signal: AbortSignal) => Promise<boolean>,
  signal = usual,
): Promise<void> {
  await within(machine.powerTimeout, late, signal, async (inTime) => {
    while (!(await isDone(hypervisor.connection, inTime))) await pause(poll, inTime);
  });
}
