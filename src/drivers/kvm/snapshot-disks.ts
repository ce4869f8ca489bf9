import { Fault } from '../../core/errors.ts';
import { listSnapshots, type Snapshot, snapshotXml } from '../../protocols/libvirt/calls/snapshots.ts';
import type { LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import { childElements, type Element, elementAt, readXml } from '../../protocols/libvirt/xml.ts';
import type { Hypervisor } from './hypervisor.ts';
import { holdsSnapshot } from './image-snapshots.ts';
import { type MachineDisk, machineDisks } from './machine-disks.ts';

/** What libvirt works on when it reverts to a snapshot or deletes it: the disks that the machine had then, not those that it has now. */
export interface SnapshotDisks {
  readonly disks: readonly MachineDisk[];
  /** Those that hold the snapshot themselves. */
  readonly holding: readonly MachineDisk[];
  /** It is in files of its own: to delete it means to write them into their bases, and to delete them. */
  readonly isExternal: boolean;
}

const places = (xml: Element): readonly Element[] => childElements(elementAt(xml, 'disks') ?? xml, 'disk');

export async function snapshotDisks(
  connection: LibvirtConnection,
  snapshot: Snapshot,
  signal: AbortSignal,
): Promise<SnapshotDisks> {
  const xml = readXml(await snapshotXml(connection, snapshot, { signal }));
  const definitions = ['domain', 'inactiveDomain'].flatMap((name) => elementAt(xml, name) ?? []);
  const disks = definitions.flatMap((domain) => machineDisks(domain));
  const namedIn = (how: string): ReadonlySet<string | undefined> =>
    new Set(
      places(xml)
        .filter(({ attributes }) => attributes['snapshot'] === how)
        .map(({ attributes }) => attributes['name']),
    );
  const internal = namedIn('internal');
  return {
    disks,
    holding: disks.filter(({ device }) => internal.has(device)),
    isExternal: namedIn('external').size > 0,
  };
}

/** The files that snapshots of a machine are in: they are based on its disks, and on each other. */
export async function snapshotFiles(
  connection: LibvirtConnection,
  { domain }: Snapshot,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const all = await listSnapshots(connection, domain, { signal });
  const described = await Promise.all(all.map((each) => snapshotXml(connection, each, { signal })));
  return described.flatMap((text) =>
    places(readXml(text)).flatMap((disk) => elementAt(disk, 'source')?.attributes['file'] ?? []),
  );
}

/** Libvirt reverts one disk after the other: where one of them lacks the snapshot, the others would be reverted without it. */
export async function refuseIncomplete(
  hypervisor: Hypervisor,
  { name, domain }: Snapshot,
  { holding }: SnapshotDisks,
  signal: AbortSignal,
): Promise<void> {
  for (const disk of holding)
    if (!(await holdsSnapshot(hypervisor, disk, name, signal)))
      throw new Fault('invalid', [
        `its snapshot ${name} is incomplete: its disk ${disk.device} of that time, ${disk.path}, no longer holds it. Nothing was changed.`,
        `Delete the snapshot with DELETE /nodes/${domain.name}/snapshots/${encodeURIComponent(name)}.`,
      ]);
}
