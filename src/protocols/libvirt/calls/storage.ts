import type { CallOptions, LibvirtConnection } from '../connection.ts';
import { longestList, type XdrReader, XdrWriter } from '../wire.ts';
import { uuidBytes, uuidText } from './domains.ts';
import { isRefusal } from '../faults.ts';
import { errorCodes, procedures } from '../procedures.ts';

export interface Pool {
  readonly name: string;
  readonly uuid: string;
}

export interface Volume {
  readonly pool: string;
  readonly name: string;
  /** Of a file: its path. */
  readonly key: string;
}

const none = 0;

const readPool = (body: XdrReader): Pool => ({ name: body.string(), uuid: uuidText(body.uuid()) });
const writePool = (body: XdrWriter, { name, uuid }: Pool): XdrWriter => body.string(name).opaque(uuidBytes(uuid));
const readVolume = (body: XdrReader): Volume => ({ pool: body.string(), name: body.string(), key: body.string() });
const writeVolume = (body: XdrWriter, { pool, name, key }: Volume): XdrWriter =>
  body.string(pool).string(name).string(key);

async function unlessAbsent<T>(work: Promise<T>, code: number): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isRefusal(error, code)) return undefined;
    throw error;
  }
}

/** By its name, or by the directory that it is. */
export function findPool(
  connection: LibvirtConnection,
  by: { readonly name: string } | { readonly directory: string },
  options: CallOptions,
): Promise<Pool | undefined> {
  const [procedure, text] =
    'name' in by
      ? ([procedures.storagePoolLookupByName, by.name] as const)
      : ([procedures.storagePoolLookupByTargetPath, by.directory] as const);
  const found = connection.call(procedure, new XdrWriter().string(text), options).then(readPool);
  return unlessAbsent(found, errorCodes.noStoragePool);
}

/** Those that are in use; what is in others libvirt does not know. */
export async function listPools(connection: LibvirtConnection, options: CallOptions): Promise<readonly Pool[]> {
  const wantsThem = 1;
  const active = 2;
  const body = new XdrWriter().int(wantsThem).uint(active);
  const reply = await connection.call(procedures.connectListAllStoragePools, body, options);
  return reply.list(longestList, () => readPool(reply));
}

/** Active at once, and forgotten when the hypervisor restarts. With `build` the directory it is to be is made first. */
export async function createPool(
  connection: LibvirtConnection,
  xml: string,
  options: CallOptions & { readonly build?: boolean },
): Promise<Pool> {
  const withBuild = 1;
  const body = new XdrWriter().string(xml).uint(options.build ? withBuild : none);
  return readPool(await connection.call(procedures.storagePoolCreateXml, body, options));
}

/** Looks at what is there: libvirt knows only of volumes that it has made or seen. */
export async function refreshPool(connection: LibvirtConnection, pool: Pool, options: CallOptions): Promise<void> {
  await connection.call(procedures.storagePoolRefresh, writePool(new XdrWriter(), pool).uint(none), options);
}

export async function poolXml(connection: LibvirtConnection, pool: Pool, options: CallOptions): Promise<string> {
  const body = writePool(new XdrWriter(), pool).uint(none);
  return (await connection.call(procedures.storagePoolGetXml, body, options)).string();
}

/** Bytes that it has, and that are free in it. */
export async function poolRoom(
  connection: LibvirtConnection,
  pool: Pool,
  options: CallOptions,
): Promise<{ readonly capacity: bigint; readonly free: bigint }> {
  const reply = await connection.call(procedures.storagePoolGetInfo, writePool(new XdrWriter(), pool), options);
  /* Its state. */
  reply.uint();
  const capacity = reply.uhyper();
  /* What of that is used. */
  reply.uhyper();
  return { capacity, free: reply.uhyper() };
}

export function findVolume(
  connection: LibvirtConnection,
  pool: Pool,
  name: string,
  options: CallOptions,
): Promise<Volume | undefined> {
  const body = writePool(new XdrWriter(), pool).string(name);
  const found = connection.call(procedures.storageVolLookupByName, body, options).then(readVolume);
  return unlessAbsent(found, errorCodes.noStorageVolume);
}

/** Empty, as the XML says. */
export async function createVolume(
  connection: LibvirtConnection,
  pool: Pool,
  xml: string,
  options: CallOptions,
): Promise<Volume> {
  const body = writePool(new XdrWriter(), pool).string(xml).uint(none);
  return readVolume(await connection.call(procedures.storageVolCreateXml, body, options));
}

export async function volumePath(connection: LibvirtConnection, volume: Volume, options: CallOptions): Promise<string> {
  return (await connection.call(procedures.storageVolGetPath, writeVolume(new XdrWriter(), volume), options)).string();
}

export async function volumeXml(connection: LibvirtConnection, volume: Volume, options: CallOptions): Promise<string> {
  const body = writeVolume(new XdrWriter(), volume).uint(none);
  return (await connection.call(procedures.storageVolGetXml, body, options)).string();
}

export async function deleteVolume(connection: LibvirtConnection, volume: Volume, options: CallOptions): Promise<void> {
  await connection.call(procedures.storageVolDelete, writeVolume(new XdrWriter(), volume).uint(none), options);
}

/** Bytes that it holds at most, and that it takes now. */
export async function volumeSize(
  connection: LibvirtConnection,
  volume: Volume,
  options: CallOptions,
): Promise<{ readonly capacity: bigint; readonly allocation: bigint }> {
  const reply = await connection.call(procedures.storageVolGetInfo, writeVolume(new XdrWriter(), volume), options);
  /* What kind of volume it is. */
  reply.int();
  return { capacity: reply.uhyper(), allocation: reply.uhyper() };
}

/** Bytes of its file or device as they are, whatever format it has; fewer where it ends. */
export function readVolumeBytes(
  connection: LibvirtConnection,
  volume: Volume,
  from: bigint,
  length: number,
  options: CallOptions,
): Promise<Buffer> {
  const body = writeVolume(new XdrWriter(), volume).uhyper(from).uhyper(BigInt(length)).uint(none);
  return connection.download(procedures.storageVolDownload, body, length, options);
}

/** Only of one that no machine has open. `shrink`: what is beyond the new end is lost. */
export async function resizeVolume(
  connection: LibvirtConnection,
  volume: Volume,
  bytes: bigint,
  how: 'grow' | 'shrink',
  options: CallOptions,
): Promise<void> {
  const mayShrink = 4;
  const body = writeVolume(new XdrWriter(), volume)
    .uhyper(bytes)
    .uint(how === 'grow' ? none : mayShrink);
  await connection.call(procedures.storageVolResize, body, options);
}

/** With all that another one holds, and what that one is based on; no machine may have it open. */
export async function copyVolume(
  connection: LibvirtConnection,
  pool: Pool,
  xml: string,
  from: Volume,
  options: CallOptions,
): Promise<Volume> {
  const body = writeVolume(writePool(new XdrWriter(), pool).string(xml), from).uint(none);
  return readVolume(await connection.call(procedures.storageVolCreateXmlFrom, body, options));
}

/** Those that it knew when it was last looked at. */
export async function listVolumes(
  connection: LibvirtConnection,
  pool: Pool,
  options: CallOptions,
): Promise<readonly Volume[]> {
  const wantsThem = 1;
  const body = writePool(new XdrWriter(), pool).int(wantsThem).uint(none);
  const reply = await connection.call(procedures.storagePoolListAllVolumes, body, options);
  return reply.list(longestList, () => readVolume(reply));
}
