import { volumeXml } from '../../protocols/libvirt/calls/storage.ts';
import { elementAt, readXml, textOf } from '../../protocols/libvirt/xml.ts';
import { filesBehind } from './backing-names.ts';
import type { Hypervisor } from './hypervisor.ts';
import { isNamedFor, type MachineDisk } from './machine-disks.ts';
import { volumeAt } from './pools.ts';

/**
 * What disks of a machine are based on and was made for it, as a snapshot in a file of its own leaves it. Nobody would know of it without the
 * machine. Templates and masters have other names, and stay.
 */
export async function basesMadeFor(
  hypervisor: Hypervisor,
  node: string,
  disks: readonly MachineDisk[],
  signal: AbortSignal,
): Promise<readonly MachineDisk[]> {
  const found = new Map<string, MachineDisk>();
  for (const disk of disks) {
    let base = await baseOf(hypervisor, disk, signal);
    while (base && isNamedFor(node, base.path) && !found.has(base.path)) {
      found.set(base.path, base);
      base = await baseOf(hypervisor, base, signal);
    }
  }
  for (const { path } of disks) found.delete(path);
  return [...found.values()];
}

/** Of a disk that is defined as raw nothing is read: its guest writes what it likes there. */
async function baseOf(
  hypervisor: Hypervisor,
  disk: MachineDisk,
  signal: AbortSignal,
): Promise<MachineDisk | undefined> {
  const volume =
    disk.kind === 'file' && disk.format !== 'raw' ? await volumeAt(hypervisor, disk.path, signal) : undefined;
  if (!volume) return undefined;
  const backing = elementAt(readXml(await volumeXml(hypervisor.connection, volume, { signal })), 'backingStore');
  const name = textOf(backing && elementAt(backing, 'path'));
  const [path] = name === undefined ? [] : filesBehind(name, disk.path);
  const format = (backing && elementAt(backing, 'format')?.attributes['type']) ?? 'raw';
  return path === undefined ? undefined : { ...disk, path, format };
}
