import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { type Domain, domainStatistics, statistics } from '../../protocols/libvirt/calls/domains.ts';
import type { LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import { childElements, type Element, elementAt } from '../../protocols/libvirt/xml.ts';

/** A disk as a definition has it. */
export interface MachineDisk {
  readonly device: string;
  readonly bus: string;
  readonly path: string;
  readonly kind: 'file' | 'block';
  readonly format: string;
  readonly cache: string | undefined;
  readonly element: Element;
}

export const devicesOf = (domain: Element): Element => elementAt(domain, 'devices') ?? domain;

/** Disks that are files or devices of the hypervisor; drives and disks on the network are none. */
export function machineDisks(domain: Element): readonly MachineDisk[] {
  return childElements(devicesOf(domain), 'disk')
    .filter(({ attributes }) => (attributes['device'] ?? 'disk') === 'disk')
    .flatMap((disk) => {
      const { dev = '', bus = '' } = elementAt(disk, 'target')?.attributes ?? {};
      const { file, dev: node } = elementAt(disk, 'source')?.attributes ?? {};
      const { type = 'raw', cache } = elementAt(disk, 'driver')?.attributes ?? {};
      const path = file ?? node;
      if (path === undefined) return [];
      return {
        device: dev,
        bus,
        path,
        kind: file === undefined ? 'block' : 'file',
        format: type,
        cache,
        element: disk,
      };
    });
}

export function diskNamed(disks: readonly MachineDisk[], device: string): MachineDisk {
  const found = disks.find((disk) => disk.device === device);
  if (found) return found;
  const known = disks.length === 0 ? 'it has none' : `it has ${disks.map((disk) => disk.device).join(', ')}`;
  throw new Fault('invalid', `it has no disk "${device}"; ${known}.`);
}

/** Made by muster for the node, as far as its name shows. */
export const isNamedFor = (node: string, path: string): boolean => posix.basename(path).startsWith(`${node}.`);
export const isMadeFor = (node: string, { kind, path }: Pick<MachineDisk, 'kind' | 'path'>): boolean =>
  kind === 'file' && isNamedFor(node, path);

/** Refuses to delete or resize what a machine of the hypervisor, or another one than `owner`, has as its disk or has a disk based on. */
export async function refuseInUse(
  connection: LibvirtConnection,
  paths: readonly string[],
  owner: Domain | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (paths.length === 0) return;
  const found = await domainStatistics(connection, statistics.block, [], { signal, withBacking: true });
  for (const { domain, values } of found) {
    if (domain.uuid === owner?.uuid) continue;
    for (const [name, value] of values) {
      if (blockPath.test(name) && paths.includes(String(value))) {
        throw new Fault('invalid', `the disk ${value} is in use by the machine ${domain.name}.`);
      }
    }
  }
}

const blockPath = /^block\.\d+\.path$/;
