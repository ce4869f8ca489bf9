import { Fault } from '../../core/errors.ts';
import { volumeXml } from '../../protocols/libvirt/calls/storage.ts';
import { type Element, elementAt, readXml, textOf } from '../../protocols/libvirt/xml.ts';
import { filesBehind } from './backing-names.ts';
import { dataFileOf } from './data-files.ts';
import { isDevice } from './device-paths.ts';
import { sourcesIn, timesOf } from './disk-inventory.ts';
import type { Hypervisor } from './hypervisor.ts';
import type { MachineDisk } from './machine-disks.ts';
import { volumeIfThere } from './pools.ts';

/**
 * Refuses where a file that disks consist of is another one on the second hypervisor, or is not there: a base in a directory that the two
 * do not share, or a link in a shared directory that leads out of it.
 */
export async function refuseOtherFiles(
  source: Hypervisor,
  target: Hypervisor,
  disks: readonly MachineDisk[],
  signal: AbortSignal,
): Promise<void> {
  for (const disk of disks)
    for (const path of await filesOf(source, disk, signal))
      if (!(await isOneFile(source, target, path, signal))) throw isOther(disk, path, source, target);
}

function isOther({ device, path: top }: MachineDisk, path: string, source: Hypervisor, target: Hypervisor): Fault {
  if (path === top)
    return new Fault('invalid', [
      `its disk ${device}, ${path}, is not the same file on ${target.host} as on ${source.host}, though they share its directory.`,
      'If it is a link, switch the machine off and replace the link with the file itself.',
    ]);
  return new Fault('invalid', [
    `its disk ${device}, ${top}, is based on ${path}, and ${target.host} does not have the same file there.`,
    `Keep ${path} in a directory that ${source.host} and ${target.host} share, or give the machine a disk that is based on nothing.`,
  ]);
}

/** The file of a disk, and all that it is based on or keeps its content in. A guest may write what it likes into a raw disk. */
async function filesOf(hypervisor: Hypervisor, disk: MachineDisk, signal: AbortSignal): Promise<readonly string[]> {
  const defined = sourcesIn(disk.element).flatMap(({ attributes: { file, dev } }) => file ?? dev ?? []);
  const found = new Set([disk.path, ...defined]);
  if (disk.format === 'raw') return [...found];
  // A set yields what is added on the way too.
  for (const path of found) for (const base of await basesOf(hypervisor, path, signal)) found.add(base);
  return [...found];
}

async function basesOf(hypervisor: Hypervisor, path: string, signal: AbortSignal): Promise<readonly string[]> {
  const { connection } = hypervisor;
  const volume = isDevice(path) ? undefined : await volumeIfThere(hypervisor, path, signal);
  if (!volume) return [];
  const xml = readXml(await volumeXml(connection, volume, { signal }));
  const backing = textOf(elementAt(xml, 'backingStore', 'path'));
  const isQcow2 = elementAt(xml, 'target', 'format')?.attributes['type'] === 'qcow2';
  const data = isQcow2 ? await dataFileOf(connection, volume, { path, times: timesOf(xml) }, signal) : undefined;
  return [backing, data].flatMap((name) => (name === undefined ? [] : filesBehind(name, path)));
}

/**
 * By when it was last written to and changed. A guest may write meanwhile: what the second hypervisor sees is no older than what the
 * first saw before, and no newer than what it sees afterwards.
 */
async function isOneFile(source: Hypervisor, target: Hypervisor, path: string, signal: AbortSignal): Promise<boolean> {
  if (isDevice(path)) return false;
  const before = await momentsOf(source, path, signal);
  const there = await momentsOf(target, path, signal);
  const after = await momentsOf(source, path, signal);
  if (!before || !there || !after) return false;
  return there.every((moment, index) => before[index]! <= moment && moment <= after[index]!);
}

/** In nanoseconds; undefined: it is not there. */
async function momentsOf(
  hypervisor: Hypervisor,
  path: string,
  signal: AbortSignal,
): Promise<readonly bigint[] | undefined> {
  const volume = await volumeIfThere(hypervisor, path, signal);
  if (!volume) return undefined;
  const xml = readXml(await volumeXml(hypervisor.connection, volume, { signal }));
  const moments = ['mtime', 'ctime'].flatMap((name) => nanoseconds(elementAt(xml, 'target', 'timestamps', name)) ?? []);
  return moments.length === 2 ? moments : undefined;
}

function nanoseconds(time: Element | undefined): bigint | undefined {
  const [seconds, fraction = ''] = textOf(time)?.split('.') ?? [];
  return seconds === undefined ? undefined : BigInt(seconds + fraction.padEnd(9, '0'));
}
