import { readVolumeBytes, type Volume } from '../../protocols/libvirt/calls/storage.ts';
import type { LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import { isRefusal } from '../../protocols/libvirt/faults.ts';
import { errorCodes } from '../../protocols/libvirt/procedures.ts';
import { isAbsent } from './pools.ts';

const magic = 0x51_46_49_fb;
/** Where a header of version 3 says what a reader must understand, and how long it is; extensions follow it. */
const [versionAt, featuresAt, lengthAt] = [4, 72, 100];
const shortest = 104;
/** The bit of the features, and the type of the extension that has the name. */
const hasDataFile = 4n;
const dataFileType = 0x44_41_54_41;
/** Bytes that the header and all its extensions take in practice. */
const readLength = 4096;

/** The name of the file that a qcow2 image keeps its content in, as the image has it. Undefined: in itself. */
export function dataFileIn(header: Buffer): string | undefined {
  if (header.length < shortest || header.readUInt32BE(0) !== magic || header.readUInt32BE(versionAt) < 3)
    return undefined;
  if ((header.readBigUInt64BE(featuresAt) & hasDataFile) === 0n) return undefined;
  let at = header.readUInt32BE(lengthAt);
  while (at + 8 <= header.length) {
    const [type, length] = [header.readUInt32BE(at), header.readUInt32BE(at + 4)];
    if (type === 0) return undefined;
    const end = at + 8 + length;
    if (type === dataFileType) return header.toString('utf8', at + 8, end);
    at = Math.ceil(end / 8) * 8;
  }
  return undefined;
}

interface Known {
  readonly times: string;
  readonly file: string | undefined;
}

/** By their paths. Images that nobody has written to since are not read again. */
const known = new WeakMap<LibvirtConnection, Map<string, Known>>();
const mostKnown = 50_000;

/** Libvirt does not show it. An image that is gone has none. */
export async function dataFileOf(
  connection: LibvirtConnection,
  volume: Volume,
  { path, times }: { readonly path: string; readonly times: string | undefined },
  signal: AbortSignal,
): Promise<string | undefined> {
  const images = known.get(connection) ?? new Map<string, Known>();
  known.set(connection, images);
  const before = images.get(path);
  if (before && before.times === times) return before.file;
  try {
    const file = dataFileIn(await readVolumeBytes(connection, volume, 0n, readLength, { signal }));
    if (images.size >= mostKnown) images.clear();
    if (times !== undefined) images.set(path, { times, file });
    return file;
  } catch (error) {
    // Libvirt makes none that has such a file.
    const isBeingMade = isRefusal(error, errorCodes.operationInvalid);
    if (isBeingMade || isAbsent(error) || isRefusal(error, errorCodes.noStorageVolume)) return undefined;
    throw error;
  }
}
