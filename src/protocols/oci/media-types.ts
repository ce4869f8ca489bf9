import { Fault } from '../../core/errors.ts';
import type { Compression } from './image.ts';

export const manifestTypes: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
]);
export const indexTypes: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
]);

/** A registry answers "not found" to those who do not say that they know the type. */
export const acceptedTypes = [...manifestTypes, ...indexTypes].join(', ');

const compressions: Readonly<Record<string, Compression>> = {
  'application/vnd.oci.image.layer.v1.tar': 'none',
  'application/vnd.oci.image.layer.v1.tar+gzip': 'gzip',
  'application/vnd.oci.image.layer.v1.tar+zstd': 'zstd',
  // Their URLs are not followed: they must be where the image is.
  'application/vnd.oci.image.layer.nondistributable.v1.tar': 'none',
  'application/vnd.oci.image.layer.nondistributable.v1.tar+gzip': 'gzip',
  'application/vnd.oci.image.layer.nondistributable.v1.tar+zstd': 'zstd',
  'application/vnd.docker.image.rootfs.diff.tar': 'none',
  'application/vnd.docker.image.rootfs.diff.tar.gzip': 'gzip',
  'application/vnd.docker.image.rootfs.diff.tar.zstd': 'zstd',
  'application/vnd.docker.image.rootfs.foreign.diff.tar': 'none',
  'application/vnd.docker.image.rootfs.foreign.diff.tar.gzip': 'gzip',
};

export function compressionOf(mediaType: string, layer: string): Compression {
  const found = Object.hasOwn(compressions, mediaType) ? compressions[mediaType] : undefined;
  if (found) return found;
  throw new Fault('garbled', `${layer} has the type ${JSON.stringify(mediaType)}, which is no layer of files.`);
}

/** By the first bytes, where nothing else tells. */
export function sniffCompression(start: Buffer): Compression {
  if (start[0] === 0x1f && start[1] === 0x8b) return 'gzip';
  return start.length >= 4 && start.readUInt32LE(0) === 0xfd2fb528 ? 'zstd' : 'none';
}
