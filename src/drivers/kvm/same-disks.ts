import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { volumeXml } from '../../protocols/libvirt/calls/storage.ts';
import { readXml } from '../../protocols/libvirt/xml.ts';
import type { Disk } from './definition.ts';
import { isDevice } from './device-paths.ts';
import { timesOf } from './disk-inventory.ts';
import type { Hypervisor } from './hypervisor.ts';
import { volumeIfThere } from './pools.ts';
import { mayBeOneDirectory } from './shared-storage.ts';

/**
 * One file as two disks of a machine: its guest would destroy what is in it. `taken` are the paths of those that were there before; one that
 * was just made is a file of its own.
 */
export async function refuseTwice(
  hypervisor: Hypervisor,
  disks: readonly Disk[],
  taken: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const times = new Map<string, string | undefined>();
  for (const path of taken)
    if (disks.length > 1 && !isDevice(path)) times.set(path, await timesAt(hypervisor, path, signal));
  for (const [index, disk] of disks.entries())
    for (const other of disks.slice(0, index)) {
      if (await isOneByName(hypervisor, other.path, disk.path, signal))
        throw new Fault('invalid', [
          `its disks ${other.device}, ${other.path}, and ${disk.device}, ${disk.path}, would be the same.`,
          'Its attribute vmstorage must name every disk once.',
        ]);
      const seen = times.get(disk.path);
      if (seen !== undefined && seen === times.get(other.path))
        throw new Fault('invalid', [
          `its disks ${other.device}, ${other.path}, and ${disk.device}, ${disk.path}, seem to be one file: both have the same size and times.`,
          `If they are two files, run "touch ${disk.path}" on ${hypervisor.host} and repeat the command.`,
        ]);
    }
}

async function isOneByName(
  hypervisor: Hypervisor,
  first: string,
  second: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (posix.basename(first) !== posix.basename(second)) return false;
  if (first !== second && (isDevice(first) || isDevice(second))) return false;
  const directory = (path: string) => ({ hypervisor, path: posix.dirname(path) });
  return mayBeOneDirectory(directory(first), directory(second), signal);
}

/** Undefined: it is not there, and whoever looks at it next says so. */
async function timesAt(hypervisor: Hypervisor, path: string, signal: AbortSignal): Promise<string | undefined> {
  const volume = await volumeIfThere(hypervisor, path, signal);
  return volume && timesOf(readXml(await volumeXml(hypervisor.connection, volume, { signal })));
}
