import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { locationOf, removeVolume, volumeAt, volumeIn } from './disks.ts';
import type { Hypervisor } from './hypervisor.ts';
import type { MachineDisk } from './machine-disks.ts';

/** Two writers of one file go well together only where nothing is kept in between. */
const safeCaches: readonly (string | undefined)[] = ['none', 'directsync'];

/** Which disks the other hypervisor has as well, and which have to be copied. */
export async function sharedDisks(
  source: Hypervisor,
  target: Hypervisor,
  disks: readonly MachineDisk[],
  signal: AbortSignal,
): Promise<{ readonly shared: readonly MachineDisk[]; readonly copied: readonly MachineDisk[] }> {
  const device = disks.find(({ kind }) => kind === 'block');
  if (device) {
    throw new Fault(
      'invalid',
      `its disk ${device.device} is the device ${device.path}, of which nobody can tell whether ${target.host} has the same.`,
    );
  }
  const directories = new Map<string, boolean>();
  for (const { path } of disks) {
    const directory = posix.dirname(path);
    if (!directories.has(directory)) directories.set(directory, await isShared(source, target, directory, signal));
  }
  const isBoth = ({ path }: MachineDisk): boolean => directories.get(posix.dirname(path))!;
  return { shared: disks.filter(isBoth), copied: disks.filter((disk) => !isBoth(disk)) };
}

/** What one makes in the directory the other sees there. The same path alone says nothing. */
async function isShared(
  source: Hypervisor,
  target: Hypervisor,
  directory: string,
  signal: AbortSignal,
): Promise<boolean> {
  const name = `muster-probe-${randomUUID()}`;
  const path = posix.join(directory, name);
  const location = locationOf(path);
  try {
    await volumeIn(target, location, { name, size: 1n, format: 'raw', force: false }, [], signal);
    return (await volumeAt(source, path, signal)) !== undefined;
  } finally {
    await removeVolume(target, location, name, AbortSignal.timeout(probeTimeout));
  }
}
const probeTimeout = 30_000;

/** A running machine's data may otherwise still be on its way to the file when the other one reads it. */
export function refuseCached(disks: readonly MachineDisk[]): void {
  const cached = disks.find(({ cache }) => !safeCaches.includes(cache));
  if (!cached) return;
  const { device, cache = 'default' } = cached;
  throw new Fault(
    'invalid',
    `its disk ${device} has the cache "${cache}", with which it cannot move as it runs; with none or directsync it can.`,
  );
}
