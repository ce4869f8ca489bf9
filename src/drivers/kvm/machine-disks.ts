import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { domainStatistics, domainXml, listDomains, statistics } from '../../protocols/libvirt/calls/domains.ts';
import type { LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import type { Domain } from '../../protocols/libvirt/domain.ts';
import { isRefusal } from '../../protocols/libvirt/faults.ts';
import { errorCodes } from '../../protocols/libvirt/procedures.ts';
import { childElements, type Element, elementAt, readXml } from '../../protocols/libvirt/xml.ts';

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

/** Made by muster for the node, as far as its name tells. */
export const isMadeFor = (node: string, { kind, path }: Pick<MachineDisk, 'kind' | 'path'>): boolean =>
  kind === 'file' && posix.basename(path).startsWith(`${node}.`);

/** Refuses disks that another machine of the hypervisor has too, or has something based on while it runs. */
export async function refuseShared(
  connection: LibvirtConnection,
  domain: Domain,
  disks: readonly MachineDisk[],
  signal: AbortSignal,
): Promise<void> {
  const others = (await listDomains(connection, { signal })).filter(({ uuid }) => uuid !== domain.uuid);
  for (const other of disks.length === 0 ? [] : others) {
    for (const which of ['now', 'next start'] as const) {
      const used = await pathsOf(connection, other, which, signal);
      const disk = disks.find(({ path }) => used.has(path));
      if (disk) {
        throw new Fault(
          'invalid',
          `its disk ${disk.device}, ${disk.path}, is in use by the machine ${other.name} too.`,
        );
      }
    }
  }
}

/** Refuses to delete what a machine of the hypervisor, or another one than `owner`, has as its disk or has a disk based on. */
export async function refuseInUse(
  connection: LibvirtConnection,
  paths: readonly string[],
  owner: Domain | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (paths.length === 0) return;
  const told = await domainStatistics(connection, statistics.block, [], { signal, withBacking: true });
  for (const { domain, values } of told) {
    if (domain.uuid === owner?.uuid) continue;
    for (const [name, value] of values) {
      if (blockPath.test(name) && paths.includes(String(value))) {
        throw new Fault('invalid', `the disk ${value} is in use by the machine ${domain.name}.`);
      }
    }
  }
}

const blockPath = /^block\.\d+\.path$/;

async function pathsOf(
  connection: LibvirtConnection,
  domain: Domain,
  which: 'now' | 'next start',
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  try {
    const xml = readXml(await domainXml(connection, domain, which, { signal }));
    return new Set(childElements(devicesOf(xml), 'disk').flatMap((disk) => sources(disk)));
  } catch (error) {
    // It was removed meanwhile.
    if (isRefusal(error, errorCodes.noDomain)) return new Set();
    throw error;
  }
}

/** Its own, and what that one is based on. */
function sources(disk: Element): readonly string[] {
  const { file, dev } = elementAt(disk, 'source')?.attributes ?? {};
  const below = elementAt(disk, 'backingStore');
  return [file, dev].filter((path) => path !== undefined).concat(below ? sources(below) : []);
}
