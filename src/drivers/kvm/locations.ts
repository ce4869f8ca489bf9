import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { type Pool, poolXml } from '../../protocols/libvirt/calls/storage.ts';
import type { LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import { type Element, element, readXml } from '../../protocols/libvirt/xml.ts';

/** Where disks are: in a directory here or on an NFS server, a volume group or a pool that libvirt has, where they can be made, or a file or a device that is there. */
export type Location =
  | { readonly kind: 'directory' | 'file' | 'device'; readonly path: string; readonly bus?: string | undefined }
  | { readonly kind: 'pool'; readonly name: string; readonly bus?: string | undefined }
  | { readonly kind: 'lvm'; readonly group: string; readonly bus?: string | undefined }
  | { readonly kind: 'nfs'; readonly server: string; readonly path: string; readonly bus?: string | undefined };

const word = /^[A-Za-z0-9][\w.-]{0,62}$/;
const serverShape = /^([A-Za-z0-9][A-Za-z0-9.-]{0,252}|\[[\da-f:.]{2,45}\])$/i;
const pathShape = /^\/[\w./@+:-]{1,1000}$/;

/**
 * The attribute vmstorage: `dir:///images`, `nfs://server/images`, `lvm://group`, `phy:/dev/sdb`, `/images/n1.img`, or the name of a pool;
 * several joined by `|`.
 */
export function locationsIn(vmstorage: string): readonly Location[] {
  return vmstorage
    .split('|')
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map((text) => locationOf(text));
}

function locationOf(text: string): Location {
  const [place = '', bus] = text.split('=', 2);
  if (bus !== undefined && !word.test(bus)) throw wrong(text, `"${bus}" is not a model`);
  if (place.includes(',')) throw wrong(text, 'options after a comma are not supported');
  if (place.startsWith('dir://')) return { kind: 'directory', path: pathOf(text, place.slice('dir://'.length)), bus };
  if (place.startsWith('phy:')) return { kind: 'device', path: pathOf(text, place.slice('phy:'.length)), bus };
  if (place.startsWith('/')) return { kind: 'file', path: pathOf(text, place), bus };
  if (place.startsWith('lvm://')) {
    const group = place.slice('lvm://'.length).replace(/\/$/, '');
    if (!word.test(group)) throw wrong(text, `"${group}" is not a volume group`);
    return { kind: 'lvm', group, bus };
  }
  if (place.startsWith('nfs://')) {
    const [, server = '', path = ''] = /^nfs:\/\/([^/]*)(\/.*)?$/.exec(place) ?? [];
    if (!serverShape.test(server)) throw wrong(text, `"${server}" is not a server`);
    return { kind: 'nfs', server, path: pathOf(text, path), bus };
  }
  if (word.test(place)) return { kind: 'pool', name: place, bus };
  throw wrong(
    text,
    'use dir:///DIRECTORY, nfs://SERVER/DIRECTORY, lvm://GROUP, phy:/dev/DEVICE, the path of a file, or the name of a pool of libvirt',
  );
}

function pathOf(text: string, path: string): string {
  if (pathShape.test(path) && posix.normalize(path) === path) return path.length > 1 ? path.replace(/\/$/, '') : path;
  throw wrong(text, `"${path}" is not a path`);
}

const wrong = (text: string, what: string): Fault =>
  new Fault('invalid', `its attribute vmstorage has "${text}", which is wrong: ${what}.`);

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

/** Kinds of pools whose volumes are devices, and whose volumes are files. What others have is on the network. */
const ofDevices: readonly string[] = ['logical', 'disk', 'iscsi', 'scsi', 'mpath', 'zfs'];
const ofFiles: readonly string[] = ['dir', 'fs', 'netfs', 'vstorage'];

/** Whether what is made in a pool are files or devices. */
export async function volumeKind(
  connection: LibvirtConnection,
  location: Location,
  pool: Pool,
  signal: AbortSignal,
): Promise<'file' | 'block'> {
  if (location.kind === 'lvm') return 'block';
  if (location.kind !== 'pool') return 'file';
  const { type = '' } = readXml(await poolXml(connection, pool, { signal })).attributes;
  if (ofDevices.includes(type)) return 'block';
  if (ofFiles.includes(type)) return 'file';
  throw new Fault(
    'invalid',
    `its attribute vmstorage names the pool ${location.name} of the type ${type}; muster makes disks only as files and devices.`,
  );
}
