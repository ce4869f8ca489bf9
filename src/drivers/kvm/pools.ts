import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import {
  createPool,
  deleteVolume,
  findPool,
  findVolume,
  type Pool,
  poolXml,
  refreshPool,
  type Volume,
} from '../../protocols/libvirt/calls/storage.ts';
import type { LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import { LibvirtFault } from '../../protocols/libvirt/faults.ts';
import { elementAt, readXml, textOf, writeXml } from '../../protocols/libvirt/xml.ts';
import { groupOf } from './device-paths.ts';
import type { Hypervisor } from './hypervisor.ts';
import { type Location, newPool, placeOf } from './locations.ts';

/** Making a disk may mean to write all of it. */
export const diskTimeout = 600_000;

/** A directory becomes a pool for as long as the daemon lives: libvirt makes disks in nothing else. */
export async function poolAt(connection: LibvirtConnection, location: Location, signal: AbortSignal): Promise<Pool> {
  const by = location.kind === 'pool' ? { name: location.name } : { directory: placeOf(location) };
  const found = await findPool(connection, by, { signal });
  if (found) {
    await refreshPool(connection, found, { signal, timeout: diskTimeout });
    return found;
  }
  if (location.kind === 'pool') {
    throw new Fault(
      'invalid',
      `its attribute vmstorage names the pool ${location.name}, which does not exist on ${connection.where}.`,
    );
  }
  const build = location.kind === 'nfs';
  return createPool(connection, writeXml(newPool(location)), { signal, timeout: diskTimeout, build });
}

/** Whether libvirt could not look at a directory because there is none of that name. */
export const isAbsent = (error: unknown): boolean =>
  error instanceof LibvirtFault && error.failure === 'refused' && /no such file|not a directory/i.test(error.message);

/** The directory that a file is in. */
export const locationOf = (path: string): Location & { readonly path: string } => ({
  kind: 'directory',
  path: posix.dirname(path),
});

/** The path that a disk of a place has or would have. */
export async function pathFor(
  { connection, pools }: Hypervisor,
  location: Location,
  name: string,
  signal: AbortSignal,
): Promise<string> {
  const place = placeOf(location);
  if (location.kind !== 'pool') return posix.join(place, name);
  const xml = await pools.take(place, signal, async () =>
    poolXml(connection, await poolAt(connection, location, signal), { signal }),
  );
  return posix.join(textOf(elementAt(readXml(xml), 'target', 'path')) ?? place, name);
}

/** A disk in a place by its name; undefined: it is not there. */
export const volumeNamed = (
  { connection, pools }: Hypervisor,
  location: Location,
  name: string,
  signal: AbortSignal,
): Promise<Volume | undefined> =>
  pools.take(placeOf(location), signal, async () =>
    findVolume(connection, await poolAt(connection, location, signal), name, { signal }),
  );

/** A file, or a volume of LVM, as what libvirt knows of it; undefined: it is not there. */
export function volumeAt(hypervisor: Hypervisor, path: string, signal: AbortSignal): Promise<Volume | undefined> {
  const group = groupOf(path);
  const location: Location = group === undefined ? locationOf(path) : { kind: 'lvm', group };
  return volumeNamed(hypervisor, location, posix.basename(path), signal);
}

/** Deletes a disk in a place, if it is there. Only for what the same request has made: nobody uses it yet. */
export const removeVolume = (
  hypervisor: Hypervisor,
  location: Location,
  name: string,
  signal: AbortSignal,
): Promise<void> =>
  hypervisor.pools.take(placeOf(location), signal, async () => {
    const { connection } = hypervisor;
    const options = { signal, timeout: diskTimeout };
    const made = await findVolume(connection, await poolAt(connection, location, signal), name, options);
    if (made) await deleteVolume(connection, made, options);
  });

/** Undefined also where its directory is not there. */
export async function volumeIfThere(...given: Parameters<typeof volumeAt>): ReturnType<typeof volumeAt> {
  try {
    return await volumeAt(...given);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}
