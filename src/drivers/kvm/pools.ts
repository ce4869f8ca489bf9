import { createHash } from 'node:crypto';
import { poolXml, type Pool } from '../../protocols/libvirt/calls/storage.ts';
import type { LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import { type Element, element, readXml } from '../../protocols/libvirt/xml.ts';
import type { Location } from './locations.ts';

/** Where hypervisors mount what is on NFS servers, in directories of their own. */
const mounts = '/var/lib/muster/pools';

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

/** A name for it among those of the hypervisor: of a pool, or the path that it is there. */
export function placeOf(location: Location): string {
  if (location.kind === 'pool') return location.name;
  if (location.kind === 'lvm') return `/dev/${location.group}`;
  return location.kind === 'nfs' ? `${mounts}/${shortHash(`${location.server}:${location.path}`)}` : location.path;
}

/** What makes a pool of a location that libvirt knows nothing of. */
export function newPool(location: Exclude<Location, { readonly kind: 'pool' }>): Element {
  const place = placeOf(location);
  const pool = (type: string, source?: Element): Element =>
    element(
      'pool',
      { type },
      element('name', {}, `muster-${shortHash(place)}`),
      source,
      element('target', {}, element('path', {}, place)),
    );
  if (location.kind === 'lvm') {
    return pool(
      'logical',
      element('source', {}, element('name', {}, location.group), element('format', { type: 'lvm2' })),
    );
  }
  if (location.kind !== 'nfs') return pool('dir');
  const { server, path } = location;
  const host = element('host', { name: server.replaceAll(/[[\]]/g, '') });
  return pool('netfs', element('source', {}, host, element('dir', { path }), element('format', { type: 'nfs' })));
}

/** Kinds of pools whose volumes are devices. */
const ofDevices: readonly (string | undefined)[] = ['logical', 'disk', 'iscsi', 'iscsi-direct', 'scsi', 'mpath', 'zfs'];

/** Whether what is made in a pool are files or devices. */
export async function volumeKind(
  connection: LibvirtConnection,
  location: Location,
  pool: Pool,
  signal: AbortSignal,
): Promise<'file' | 'block'> {
  if (location.kind === 'lvm') return 'block';
  if (location.kind !== 'pool') return 'file';
  const { type } = readXml(await poolXml(connection, pool, { signal })).attributes;
  return ofDevices.includes(type) ? 'block' : 'file';
}
