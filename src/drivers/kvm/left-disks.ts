import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { deleteVolume, listVolumes, type Volume, volumePath } from '../../protocols/libvirt/calls/storage.ts';
import type { MachineRemoval } from '../capabilities.ts';
import type { Claim } from './disk-claims.ts';
import { refuseUsed } from './disk-users.ts';
import type { Hypervisor } from './hypervisor.ts';
import { locationsIn, placeOf } from './locations.ts';
import type { MachineAttributes } from './machine-settings.ts';
import { unmarkAll } from './partial-disks.ts';
import { diskTimeout, poolAt } from './pools.ts';

/** A disk that no machine has, though it is called like one of the node's. */
export interface LeftDisk {
  readonly path: string;
  readonly kind: 'file' | 'block';
  readonly volume: Volume;
}

const suffix = /^\.([hsv]d[a-z])\.(qcow2|raw)$/;

/** Disks that are called like those of a node, in the places where muster makes these; with `device`, only that one. */
export async function disksCalledFor(
  { connection, pools }: Hypervisor,
  node: string,
  { vmstorage = '' }: MachineAttributes,
  signal: AbortSignal,
  device?: string,
): Promise<readonly LeftDisk[]> {
  const found = new Map<string, LeftDisk>();
  for (const location of locationsIn(vmstorage)) {
    if (location.kind === 'file' || location.kind === 'device') continue;
    const volumes = await pools.take(placeOf(location), signal, async () =>
      listVolumes(connection, await poolAt(connection, location, signal), { signal }),
    );
    for (const volume of volumes.filter(({ name }) => name.startsWith(node))) {
      const [, of] = suffix.exec(volume.name.slice(node.length)) ?? [];
      if (of === undefined || (device ?? of) !== of) continue;
      const path = await volumePath(connection, volume, { signal });
      found.set(path, { path, kind: path.startsWith('/dev/') ? 'block' : 'file', volume });
    }
  }
  return [...found.values()].toSorted((a, b) => posix.basename(a.path).localeCompare(posix.basename(b.path)));
}

interface LeftRemoval extends Pick<MachineRemoval, 'force' | 'masters' | 'removing'> {
  readonly attributes: MachineAttributes;
  readonly claim: Claim;
}

/** Deletes what is left of a machine that is gone: a muster that was killed may have removed the machine, and not all of its disks. */
export async function removeLeft(
  hypervisor: Hypervisor,
  node: string,
  { attributes, force, masters, claim, removing }: LeftRemoval,
  signal: AbortSignal,
): Promise<void> {
  const { connection, host } = hypervisor;
  const left = await disksCalledFor(hypervisor, node, attributes, signal);
  if (left.length === 0) return hypervisor.lacks(node);
  const paths = left.map(({ path }) => path);
  if (!force)
    throw new Fault('invalid', [
      `there is no virtual machine ${node} on ${host}, but there are disks of its name: ${paths.join(', ')}.`,
      'Use force to delete them.',
    ]);
  // The machine may run on a hypervisor that does not answer.
  await refuseUsed(hypervisor, { paths, force: 'never', masters, claim }, signal);
  for (const { path, volume } of left) {
    removing?.(`the disk ${path} on ${connection.where}`);
    await deleteVolume(connection, volume, { signal, timeout: diskTimeout });
  }
  await unmarkAll(hypervisor, left, signal);
}
