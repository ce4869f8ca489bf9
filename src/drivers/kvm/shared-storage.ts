import { randomUUID } from 'node:crypto';
import { createVolume } from '../../protocols/libvirt/calls/storage.ts';
import { LibvirtFault } from '../../protocols/libvirt/faults.ts';
import { element, writeXml } from '../../protocols/libvirt/xml.ts';
import type { Hypervisor } from './hypervisor.ts';
import { type Location, placeOf } from './locations.ts';
import { isAbsent, poolAt, removeVolume, volumeNamed } from './pools.ts';

/** Milliseconds to remove the file that was made to find out. */
const removalTimeout = 30_000;

/** A directory of a hypervisor. */
export interface Directory {
  readonly hypervisor: Hypervisor;
  readonly path: string;
}

/**
 * Whether two directories are one: what is made in the second is seen in the first. Equal paths on two hypervisors say nothing, and
 * neither do different ones, as mounts and links make many paths to one directory.
 */
export async function isOneDirectory(first: Directory, second: Directory, signal: AbortSignal): Promise<boolean> {
  if (first.hypervisor === second.hypervisor && first.path === second.path) return true;
  const name = `muster-probe-${randomUUID()}`;
  const place = ({ path }: Directory): Location => ({ kind: 'directory', path });
  const location = place(second);
  const { connection, pools } = second.hypervisor;
  const probe = element(
    'volume',
    {},
    element('name', {}, name),
    element('capacity', { unit: 'bytes' }, '1'),
    element('target', {}, element('format', { type: 'raw' })),
  );
  try {
    await pools.take(placeOf(location), signal, async () =>
      createVolume(connection, await poolAt(connection, location, signal), writeXml(probe), { signal }),
    );
    return (await volumeNamed(first.hypervisor, place(first), name, signal)) !== undefined;
  } finally {
    await removeVolume(second.hypervisor, location, name, AbortSignal.timeout(removalTimeout));
  }
}

/** The same, where a directory that muster may not write to is taken for the same one, as it cannot find out. */
export async function mayBeOneDirectory(first: Directory, second: Directory, signal: AbortSignal): Promise<boolean> {
  try {
    return await isOneDirectory(first, second, signal);
  } catch (error) {
    if (isAbsent(error)) return false;
    if (error instanceof LibvirtFault && error.failure === 'refused') return true;
    throw error;
  }
}

/** Whether two hypervisors have one directory in common under the same path. */
export const isShared = (source: Hypervisor, target: Hypervisor, path: string, signal: AbortSignal): Promise<boolean> =>
  isOneDirectory({ hypervisor: source, path }, { hypervisor: target, path }, signal);
