import { Fault } from '../../core/errors.ts';
import { defineDomain, domainXml } from '../../protocols/libvirt/calls/domains.ts';
import { deleteVolume, resizeVolume, type Volume } from '../../protocols/libvirt/calls/storage.ts';
import { type Element, element, elementAt, readXml, textOf, writeXml } from '../../protocols/libvirt/xml.ts';
import type { Change, NewDisk } from './change.ts';
import { type Disk, diskOf } from './definition.ts';
import { diskTimeout, formAt, volumeAt, volumeIn, volumeOfDisk } from './disks.ts';
import type { Hypervisor } from './hypervisor.ts';
import { isNamedFor, type MachineDisk } from './machine-disks.ts';
import { type Undo, undone } from './undo.ts';

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

export const keptWords = 'Not all could be made as it was:';

/** A disk of its own in the place that was chosen for it. */
export async function makeDisk(
  { machine, hypervisor, settings: { format, isAllocated }, force, removing, signal }: Change,
  { location, bus, device, size }: NewDisk,
  undo: Undo[],
): Promise<Disk> {
  const form = await formAt(hypervisor, location, format, signal);
  const name = `${machine.access.node}.${device}.${form.format}`;
  const request = { name, size, ...form, isAllocated, force, removing };
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
export async function deleteDisks(
  { machine, hypervisor: { connection }, removing, signal }: Change,
  volumes: readonly Volume[],
): Promise<void> {
  const left: string[] = [];
  for (const volume of volumes) {
    if (!isNamedFor(machine.access.node, volume.key)) removing?.(`the disk ${volume.key} on ${connection.where}`);
    try {
      await deleteVolume(connection, volume, { signal, timeout: diskTimeout });
    } catch (error) {
      left.push(`Its disk ${volume.key} is no longer its own, but could not be deleted: ${(error as Error).message}`);
    }
  }
  if (left.length > 0) throw new Fault('invalid', ['all else was done.', ...left]);
}

function redefined(domain: Element, { cpus, memory, purge }: Change, added: readonly Element[]): Element {
  const gone = new Set(purge.map(({ device }) => device));
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
