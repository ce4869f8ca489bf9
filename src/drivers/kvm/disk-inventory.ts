import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import {
  type Domain,
  domainStates,
  domainStatistics,
  domainXml,
  statistics,
} from '../../protocols/libvirt/calls/domains.ts';
import {
  findPool,
  findVolume,
  listPools,
  listVolumes,
  type Pool,
  poolXml,
  volumePath,
  volumeXml,
} from '../../protocols/libvirt/calls/storage.ts';
import type { LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import { isRefusal, LibvirtFault } from '../../protocols/libvirt/faults.ts';
import { errorCodes } from '../../protocols/libvirt/procedures.ts';
import { childElements, type Element, elementAt, readXml, textOf } from '../../protocols/libvirt/xml.ts';
import { filesBehind } from './backing-names.ts';
import { madeHere } from './definition.ts';
import { dataFileOf } from './data-files.ts';
import { deviceName, groupOf, isDevice, leadsUp, tidyPath } from './device-paths.ts';
import type { Hypervisor } from './hypervisor.ts';
import { placeOf } from './locations.ts';
import { devicesOf } from './machine-disks.ts';
import { isAbsent, poolAt } from './pools.ts';

/** What a hypervisor knows of disks. */
export interface DiskInventory {
  readonly machines: readonly MachineWithDisks[];
  /** By their paths. */
  readonly disks: ReadonlyMap<string, KnownDisk>;
}

export interface MachineWithDisks {
  readonly domain: Domain;
  /** Of its disks, and of what else it boots from. */
  readonly paths: readonly string[];
  /** muster made it. */
  readonly isOurs: boolean;
}

interface KnownDisk {
  /** The paths of what it is based on, and of what holds its content. */
  readonly bases: readonly string[];
  /** The same for all names of one file, as long as nobody writes to it. */
  readonly times: string | undefined;
}

/** Directories that are visited by ways which lead up. */
const mostDetours = 100;

/** What stops muster from finding out who uses a disk. */
export class Unreadable extends Fault {}

/**
 * What machines have, and the disks of all pools with what each is based on. Directories become pools where there are these paths, disks of
 * machines, or bases of disks. Of pools that have nothing to do with these libvirt may know an older state.
 */
export async function diskInventory(
  { connection }: Hypervisor,
  near: readonly string[],
  signal: AbortSignal,
): Promise<DiskInventory> {
  const machines = await machinesWithDisks(connection, signal);
  const disks = new Map<string, KnownDisk>();
  const raw = new Set(machines.flatMap((machine) => machine.raw));
  const read = new Set<string>();
  const contents = new Set<string>();
  const readOnce = async (pool: Pool): Promise<void> => {
    if (read.has(pool.uuid)) return;
    read.add(pool.uuid);
    const found = await disksIn(connection, pool, signal);
    const content = found
      .map(([path, { times }]) => JSON.stringify([posix.basename(path), times]))
      .toSorted()
      .join('\n');
    // A directory that was read under another name: disks in it that name each other by "../" would have no end.
    if (contents.has(content) && found.every(([path]) => leadsUp(path))) return;
    contents.add(content);
    // What looks like a header in a raw disk was written by its guest, which may name any file in it.
    for (const [path, known] of found) disks.set(path, raw.has(path) ? { ...known, bases: [] } : known);
  };
  const visited = new Set<string>();
  const unvisited = (paths: readonly string[]): readonly Place[] =>
    locationsOf(paths).filter((location) => !visited.has(placeOf(location)));
  const visit = async (location: Place): Promise<void> => {
    visited.add(placeOf(location));
    const pool = await readablePool(connection, location, signal);
    if (pool) await readOnce(pool);
  };
  for (const location of unvisited([...near, ...machines.flatMap(({ ofDisks }) => ofDisks)])) await visit(location);
  for (const pool of await listPools(connection, { signal })) await readOnce(pool);
  let detours = 0;
  for (;;) {
    const unknown = [...disks.values()].flatMap(({ bases }) => bases.filter((base) => !disks.has(base)));
    const [location] = unvisited(unknown);
    if (!location) return { machines, disks };
    if (leadsUp(placeOf(location)) && ++detours > mostDetours)
      throw new Unreadable(
        'invalid',
        `disks on ${connection.where} are based on each other by "../" without an end, as in ${placeOf(location)}.`,
      );
    await visit(location);
  }
}

type Place = { readonly kind: 'lvm'; readonly group: string } | { readonly kind: 'directory'; readonly path: string };

/** Of the system itself: no disks are there, and to look at what is there may change it. */
const systemDirectory = /^\/(proc|sys)(\/|$)/;

function locationsOf(paths: readonly string[]): readonly Place[] {
  const groups = new Set<string>();
  const directories = new Set<string>();
  for (const path of paths) {
    const group = groupOf(path);
    const directory = posix.dirname(path);
    if (group !== undefined) groups.add(group);
    else if (path.startsWith('/') && !isDevice(path) && !systemDirectory.test(directory)) directories.add(directory);
  }
  return [
    ...Array.from(groups, (group): Place => ({ kind: 'lvm', group })),
    ...Array.from(directories, (path): Place => ({ kind: 'directory', path })),
  ];
}

/** Undefined: it is not there. */
async function readablePool(
  connection: LibvirtConnection,
  location: Place,
  signal: AbortSignal,
): Promise<Pool | undefined> {
  const directory = placeOf(location);
  try {
    return await poolAt(connection, location, signal);
  } catch (error) {
    if (!(error instanceof LibvirtFault) || error.failure !== 'refused') throw error;
    if (isAbsent(error)) return undefined;
    // While libvirt makes something in a pool, it looks at nothing there, and knows what it has.
    if (/asynchronous jobs/.test(error.message)) return findPool(connection, { directory }, { signal });
    throw unreadable(`the disks in ${directory}`, connection, error);
  }
}

const unreadable = (what: string, { where }: LibvirtConnection, cause: LibvirtFault): Unreadable =>
  new Unreadable('invalid', `${what} on ${where} cannot be read: ${cause.message}`, { cause });

async function readably<T>(path: string, connection: LibvirtConnection, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof LibvirtFault && error.failure === 'refused')
      throw unreadable(`the disk ${path}`, connection, error);
    throw error;
  }
}

/** As machines run, with what that is based on and copied to, and as they are defined. */
async function machinesWithDisks(
  connection: LibvirtConnection,
  signal: AbortSignal,
): Promise<readonly (MachineWithDisks & Record<'ofDisks' | 'raw', readonly string[]>)[]> {
  const found = await domainStatistics(connection, statistics.state, [], { signal });
  return Promise.all(
    found.map(async ({ domain, values }) => {
      const isOff = Number(values.get('state.state')) === domainStates.off;
      const definitions = await Promise.all(
        (isOff ? (['next start'] as const) : (['now', 'next start'] as const)).map((which) =>
          unlessGone(domainXml(connection, domain, which, { signal }), errorCodes.noDomain),
        ),
      );
      const domains = definitions.flatMap((xml) => (xml === undefined ? [] : readXml(xml)));
      const disks = domains.flatMap((xml) => childElements(devicesOf(xml), 'disk'));
      const sources = disks.flatMap((disk) => sourcesIn(disk).map((each) => pathOf(connection, each, signal)));
      const ofDisks = [...new Set((await Promise.all(sources)).flatMap((path) => path ?? []))];
      const raw = disks.flatMap((disk) => {
        const { file } = elementAt(disk, 'source')?.attributes ?? {};
        return file !== undefined && (elementAt(disk, 'driver')?.attributes['type'] ?? 'raw') === 'raw'
          ? tidyPath(file)
          : [];
      });
      const isOurs = domains.some((xml) => elementAt(xml, 'metadata', madeHere) !== undefined);
      return { domain, paths: [...ofDisks, ...domains.flatMap(bootFiles)], isOurs, ofDisks, raw };
    }),
  );
}

/** What it boots from besides disks. Their directories, such as /boot, do not become pools. */
const bootFiles = (domain: Element): readonly string[] =>
  ['kernel', 'initrd', 'dtb', 'loader', 'nvram'].flatMap((name) => {
    const path = textOf(elementAt(domain, 'os', name));
    return path === undefined ? [] : tidyPath(path);
  });

/** Of a disk, of all that it is based on, and of what it is copied to. */
export const sourcesIn = (within: Element): readonly Element[] => [
  ...(within.name === 'source' ? [within] : []),
  ...within.children.flatMap((child) => (typeof child === 'string' ? [] : sourcesIn(child))),
];

async function pathOf(
  connection: LibvirtConnection,
  { attributes: { file, dev, pool, volume } }: Element,
  signal: AbortSignal,
): Promise<string | undefined> {
  const path = file ?? dev ?? (pool && volume && (await pathIn(connection, pool, volume, signal)));
  return path && deviceName(tidyPath(path));
}

/** Also of a pool that is not in use. */
async function pathIn(
  connection: LibvirtConnection,
  name: string,
  volume: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const pool = await findPool(connection, { name }, { signal });
  if (!pool) return undefined;
  try {
    const found = await findVolume(connection, pool, volume, { signal });
    if (found) return await volumePath(connection, found, { signal });
  } catch (error) {
    if (!isRefusal(error, errorCodes.operationInvalid)) throw error;
  }
  const directory = textOf(elementAt(readXml(await poolXml(connection, pool, { signal })), 'target', 'path'));
  return directory && posix.join(directory, volume);
}

async function disksIn(
  connection: LibvirtConnection,
  pool: Pool,
  signal: AbortSignal,
): Promise<readonly (readonly [path: string, disk: KnownDisk])[]> {
  const volumes = await listVolumes(connection, pool, { signal });
  const described = await Promise.all(
    volumes.map((volume) => unlessGone(volumeXml(connection, volume, { signal }), errorCodes.noStorageVolume)),
  );
  const found: (readonly [string, KnownDisk])[] = [];
  for (const [index, text] of described.entries()) {
    const xml = text === undefined ? undefined : readXml(text);
    const path = xml && textOf(elementAt(xml, 'target', 'path'));
    if (path === undefined) continue;
    const times = timesOf(xml!);
    const backing = textOf(elementAt(xml!, 'backingStore', 'path'));
    const isQcow2 = elementAt(xml!, 'target', 'format')?.attributes['type'] === 'qcow2';
    const data = isQcow2
      ? await readably(path, connection, dataFileOf(connection, volumes[index]!, { path, times }, signal))
      : undefined;
    const bases = [backing, data].flatMap((name) => (name === undefined ? [] : filesBehind(name, path)));
    found.push([deviceName(path), { bases, times }]);
  }
  return found;
}

/** When a file was last written to and changed, in nanoseconds, and its size. */
export function timesOf(volume: Element): string | undefined {
  const [modified, changed, size] = [
    ['target', 'timestamps', 'mtime'],
    ['target', 'timestamps', 'ctime'],
    ['physical'],
  ].map((path) => textOf(elementAt(volume, ...path)));
  return modified === undefined || changed === undefined ? undefined : `${modified} ${changed} ${size}`;
}

/** What is gone since it was listed is nobody's any more. */
async function unlessGone<T>(reading: Promise<T>, code: number): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isRefusal(error, code)) return undefined;
    throw error;
  }
}
