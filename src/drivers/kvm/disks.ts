import { Fault } from '../../core/errors.ts';
import {
  copyVolume,
  createVolume,
  deleteVolume,
  findVolume,
  type Pool,
  poolRoom,
  type Volume,
  volumePath,
  volumeXml,
} from '../../protocols/libvirt/calls/storage.ts';
import type { LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import { isRefusal, LibvirtFault } from '../../protocols/libvirt/faults.ts';
import { errorCodes } from '../../protocols/libvirt/procedures.ts';
import { type Element, element, elementAt, readXml, writeXml } from '../../protocols/libvirt/xml.ts';
import type { KeptMaster } from '../capabilities.ts';
import type { Disk } from './definition.ts';
import { isDevice } from './device-paths.ts';
import type { Claim } from './disk-claims.ts';
import { refuseUsed } from './disk-users.ts';
import type { Hypervisor } from './hypervisor.ts';
import { type Location, placeOf, volumeKind } from './locations.ts';
import type { MachineDisk } from './machine-disks.ts';
import { inMegabytes, type MachineSettings } from './machine-settings.ts';
import type { Undo } from './machine.ts';
import { isPartial, markOf, markPartial, refusePartial } from './partial-disks.ts';
import { diskTimeout, pathFor, poolAt, removeVolume, volumeAt, volumeNamed } from './pools.ts';
import { refuseTwice } from './same-disks.ts';

/** What disks of each kind of bus are called. */
const prefixes: Readonly<Record<string, string>> = { ide: 'hd', virtio: 'vd' };
const letters = 'abcdefghijklmnopqrstuvwxyz';
/** The third on IDE is left to a CD drive. */
const ideLetters = 'abd';
/** Milliseconds that one disk may take to be copied. */
export const copyTimeout = 86_400_000;

interface Place {
  readonly location: Location;
  readonly bus: string;
  readonly device: string;
  /** Bytes to make; undefined: what is there is taken. */
  readonly size: bigint | undefined;
}

export function deviceOn(bus: string, number: number): string | undefined {
  const letter = (bus === 'ide' ? ideLetters : letters)[number];
  return letter && `${prefixes[bus] ?? 'sd'}${letter}`;
}

/** One disk for each location and, where sizes are asked for, one for each of these: the last location has the rest. */
export function placesOf(settings: MachineSettings, sizes: readonly bigint[]): readonly Place[] {
  const { locations } = settings;
  if (sizes.length > 0 && locations.length === 0) {
    throw new Fault('invalid', 'its attribute vmstorage is not set, so muster does not know where to make its disk.');
  }
  const taken = new Map<string, number>();
  return Array.from({ length: Math.max(locations.length, sizes.length) }, (_, index) => {
    const location = locations[Math.min(index, locations.length - 1)]!;
    const size = sizes[index];
    if (size !== undefined && (location.kind === 'file' || location.kind === 'device')) {
      throw new Fault('invalid', `no disk can be made at ${location.path}: it is neither a directory nor a pool.`);
    }
    const bus = location.bus ?? settings.bus;
    const number = taken.get(bus) ?? 0;
    taken.set(bus, number + 1);
    const device = deviceOn(bus, number);
    if (device === undefined) throw new Fault('invalid', `it has more disks than the model ${bus} takes.`);
    return { location, bus, device, size };
  });
}

export interface DiskRequest {
  readonly node: string;
  readonly settings: MachineSettings;
  readonly sizes: readonly bigint[];
  /** Disks that are there under the same name are replaced. */
  readonly force: boolean;
  readonly masters: readonly KeptMaster[];
  readonly claim: Claim;
  readonly removing?: Removing | undefined;
}

/** Hears of what muster may not have made, before it is removed. */
export type Removing = (what: string) => void;

/** Finds or makes the disks of a machine. `undo` gets what was made as soon as it may be there. */
export async function prepareDisks(
  hypervisor: Hypervisor,
  { node, settings, sizes, force, masters, claim, removing }: DiskRequest,
  undo: Undo[],
  signal: AbortSignal,
): Promise<readonly Disk[]> {
  const { format, isAllocated } = settings;
  const disks: Disk[] = [];
  const taken: string[] = [];
  const add = async ({ location, bus, device, size }: Place): Promise<boolean> => {
    if (location.kind === 'file') {
      taken.push(location.path);
      disks.push({ path: location.path, kind: 'file', format, device, bus });
    } else if (location.kind === 'device') {
      taken.push(location.path);
      disks.push({ path: location.path, kind: 'block', format: 'raw', device, bus });
    } else {
      const form = await formAt(hypervisor, location, format, signal);
      const request = {
        name: `${node}.${device}.${form.format}`,
        size,
        ...form,
        isAllocated,
        force,
        masters,
        claim,
        removing,
      };
      const path = await volumeIn(hypervisor, location, request, undo, signal);
      if (path === undefined) return false;
      if (size === undefined) taken.push(path);
      disks.push({ path, ...form, device, bus });
    }
    return true;
  };
  const places = placesOf(settings, sizes);
  for (const place of places) await add(place);
  // Where none are to be made, all that were made before are taken.
  const last = places.at(-1);
  if (sizes.length === 0 && last && last.location.kind !== 'file' && last.location.kind !== 'device') {
    let number = places.filter(({ bus }) => bus === last.bus).length;
    for (let device = deviceOn(last.bus, number); device; device = deviceOn(last.bus, ++number))
      if (!(await add({ ...last, device }))) break;
  }
  await refuseTwice(hypervisor, disks, taken, signal);
  for (const path of taken) if (!isDevice(path)) await refusePartial(hypervisor, path, signal);
  await refuseUsed(hypervisor, { paths: taken, force, masters, claim }, signal);
  return disks;
}

/** How a disk that is made there is kept: devices hold what is written as it is. */
export const formAt = (
  { connection, pools }: Hypervisor,
  location: Location,
  format: Disk['format'],
  signal: AbortSignal,
): Promise<Pick<Disk, 'kind' | 'format'>> =>
  pools.take(placeOf(location), signal, async () => {
    if (location.kind === 'directory' || location.kind === 'nfs') return { kind: 'file', format };
    const kind = await volumeKind(connection, location, await poolAt(connection, location, signal), signal);
    return { kind, format: kind === 'block' ? 'raw' : format };
  });

export interface VolumeRequest {
  readonly name: string;
  /** Undefined: what is there is taken. */
  readonly size: bigint | undefined;
  readonly format: string;
  /** Undefined: a file. */
  readonly kind?: Disk['kind'] | undefined;
  /** It has all its room from the start, as devices always do. */
  readonly isAllocated?: boolean | undefined;
  /** One that is there is replaced. */
  readonly force: boolean;
  readonly masters: readonly KeptMaster[];
  readonly claim: Claim;
  readonly removing?: Removing | undefined;
  /** What it is based on: only what differs from it is kept. */
  readonly backing?: { readonly path: string; readonly format: string } | undefined;
  /** What it is to hold. */
  readonly copyOf?: Volume | undefined;
}

/**
 * Finds or makes a disk in a place; its path. Undefined: it is not there. A file that was made is marked as partial until all is made that
 * it is made for.
 */
export async function volumeIn(
  hypervisor: Hypervisor,
  location: Location,
  request: VolumeRequest,
  undo: Undo[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const { connection } = hypervisor;
  const { name, size, force, masters, claim } = request;
  const existing = await volumeNamed(hypervisor, location, name, signal);
  const path = existing && (await volumePath(connection, existing, { signal }));
  if (size === undefined) return path;
  // Also one that is not there: another request may be about to make it, and its mark would say that nobody does.
  await claim(hypervisor, [path ?? (await pathFor(hypervisor, location, name, signal))], signal);
  const isInTheWay = (): Fault =>
    new Fault('invalid', `there is a disk ${path ?? name} on ${connection.where} already; with force it is replaced.`);
  const isLeft = path !== undefined && !isDevice(path) && (await isPartial(hypervisor, path, signal));
  if (path !== undefined) {
    if (!force && !isLeft) throw isInTheWay();
    await refuseUsed(hypervisor, { paths: [path], force, masters, claim }, signal);
  }
  return hypervisor.pools.take(placeOf(location), signal, async () => {
    const pool = await poolAt(connection, location, signal);
    const options = { signal, timeout: diskTimeout };
    await refuseTooLarge(connection, location, pool, size, signal);
    const found = await findVolume(connection, pool, name, options);
    // Nobody has looked at who uses one that was made since.
    if (found && path === undefined) throw isInTheWay();
    if (found) {
      if (!isLeft) request.removing?.(`the disk ${path} on ${connection.where}`);
      await deleteVolume(connection, found, options);
    }
    if (request.kind !== 'block') {
      undo.push((at, later) => removeVolume(at, location, markOf(name), later));
      await markPartial(connection, pool, name, signal);
    }
    const remove: Undo = (at, later) => removeVolume(at, location, name, later);
    undo.push(remove);
    try {
      return await volumePath(connection, await makeVolume(connection, pool, request, signal), options);
    } catch (error) {
      // Somebody else has made it in this moment.
      if (isRefusal(error, errorCodes.storageVolumeExists)) undo.splice(undo.indexOf(remove), 1);
      throw await explained(error, connection, location, pool, size, signal);
    }
  });
}

/** A disk may have more than is free now, as long as all of it could ever be written. */
export async function refuseTooLarge(
  connection: LibvirtConnection,
  location: Location,
  pool: Pool,
  size: bigint,
  signal: AbortSignal,
): Promise<void> {
  const { capacity } = await poolRoom(connection, pool, { signal });
  if (size > capacity)
    throw new Fault(
      'invalid',
      `a disk of ${inMegabytes(size)} is larger than ${placeOf(location)} on ${connection.where}, which has ${inMegabytes(capacity)}.`,
    );
}

const roomWords = /no space left|insufficient free space|not enough free space/i;

/** A pool that is full says so in the words of whatever program has met it. */
async function explained(
  error: unknown,
  connection: LibvirtConnection,
  location: Location,
  pool: Pool,
  size: bigint,
  signal: AbortSignal,
): Promise<unknown> {
  if (!(error instanceof LibvirtFault) || !roomWords.test(error.message)) return error;
  const { free } = await poolRoom(connection, pool, { signal });
  return new Fault(
    'invalid',
    `${placeOf(location)} on ${connection.where} has no space for a disk of ${inMegabytes(size)}: ${inMegabytes(free)} are free.`,
    { cause: error },
  );
}

/** Of LVM libvirt makes a snapshot that breaks once it is written to where the allocation is not all of it. */
export const volumeDefinition = ({
  name,
  size,
  format,
  kind,
  isAllocated,
  backing,
}: Omit<VolumeRequest, 'force' | 'masters' | 'claim'>): Element =>
  element(
    'volume',
    {},
    element('name', {}, name),
    element('capacity', { unit: 'bytes' }, String(size)),
    element('allocation', { unit: 'bytes' }, isAllocated || kind === 'block' ? String(size) : '0'),
    element('target', {}, element('format', { type: format })),
    backing &&
      element('backingStore', {}, element('path', {}, backing.path), element('format', { type: backing.format })),
  );

function makeVolume(
  connection: LibvirtConnection,
  pool: Pool,
  request: VolumeRequest,
  signal: AbortSignal,
): Promise<Volume> {
  const xml = writeXml(volumeDefinition(request));
  const { copyOf } = request;
  return copyOf
    ? copyVolume(connection, pool, xml, copyOf, { signal, timeout: copyTimeout })
    : createVolume(connection, pool, xml, { signal, timeout: diskTimeout });
}

/** What guests may have on a disk whose content is not looked at: no other file is reached by it. */
const plainFormats: readonly string[] = ['raw', 'iso'];

/**
 * A disk of a machine, for libvirt to read it or to change its size. It finds the format by what is in the disk, which the guest has
 * written: a disk that is defined as raw and holds a header of another format would lead to whatever file the guest names there.
 */
export async function volumeOfDisk(
  hypervisor: Hypervisor,
  { device, path, format }: Pick<MachineDisk, 'device' | 'path' | 'format'>,
  signal: AbortSignal,
): Promise<Volume> {
  const volume = await volumeAt(hypervisor, path, signal);
  if (!volume) throw new Fault('invalid', `its disk ${device}, ${path}, is not there.`);
  const described = readXml(await volumeXml(hypervisor.connection, volume, { signal }));
  const held = elementAt(described, 'target', 'format')?.attributes['type'] ?? 'raw';
  if (held !== format && !(format === 'raw' && plainFormats.includes(held)))
    throw new Fault(
      'invalid',
      `its disk ${device}, ${path}, is defined as ${format}, but the guest has written a header of ${held} into it, which may lead to files of others. ` +
        'Overwrite the beginning of the disk in the guest, or copy its content to another disk.',
    );
  return volume;
}
