import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { createVolume, type Pool } from '../../protocols/libvirt/calls/storage.ts';
import type { LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import { isRefusal, LibvirtFault } from '../../protocols/libvirt/faults.ts';
import { errorCodes } from '../../protocols/libvirt/procedures.ts';
import { element, writeXml } from '../../protocols/libvirt/xml.ts';
import type { Disk } from './definition.ts';
import type { Hypervisor } from './hypervisor.ts';
import { locationOf, removeVolume, volumeAt } from './pools.ts';

/**
 * While muster makes disks, or copies them to another hypervisor, a file beside each says so. A muster that dies leaves both; the next one
 * replaces such a disk without force, and gives it to no machine.
 */
const ending = '.muster-partial';
export const markOf = (disk: string): string => disk + ending;
export const isMark = (file: string): boolean => file.endsWith(ending);

/** The mark is there before the disk, and goes after it. Who calls has the pool for itself. */
export async function markPartial(
  connection: LibvirtConnection,
  pool: Pool,
  disk: string,
  signal: AbortSignal,
): Promise<void> {
  const xml = element(
    'volume',
    {},
    element('name', {}, markOf(disk)),
    element('capacity', { unit: 'bytes' }, '1'),
    element('target', {}, element('format', { type: 'raw' })),
  );
  try {
    await createVolume(connection, pool, writeXml(xml), { signal });
  } catch (error) {
    if (!isRefusal(error, errorCodes.storageVolumeExists)) throw error;
  }
}

/** Of disks that are complete, or gone. Where the directory is not there, neither is a mark. */
export async function unmarkAll(
  hypervisor: Hypervisor,
  disks: readonly Pick<Disk, 'path' | 'kind'>[],
  signal: AbortSignal,
): Promise<void> {
  for (const { path } of disks.filter(({ kind }) => kind === 'file')) {
    try {
      await removeVolume(hypervisor, locationOf(path), markOf(posix.basename(path)), signal);
    } catch (error) {
      if (!(error instanceof LibvirtFault) || error.failure !== 'refused') throw error;
    }
  }
}

export const isPartial = async (hypervisor: Hypervisor, path: string, signal: AbortSignal): Promise<boolean> =>
  (await volumeAt(hypervisor, markOf(path), signal)) !== undefined;

/** Refuses to give a disk to a machine that nobody has completed. */
export async function refusePartial(hypervisor: Hypervisor, path: string, signal: AbortSignal): Promise<void> {
  if (!(await isPartial(hypervisor, path, signal))) return;
  const { host } = hypervisor;
  throw new Fault('invalid', [
    `the disk ${path} on ${host} may be incomplete: the command that made it did not end.`,
    `Repeat that command, or delete the disk on ${host}. If you are sure that the disk is complete, delete ${markOf(path)} there.`,
  ]);
}
