import { Fault } from '../../core/errors.ts';
import { type Descriptor, type Index, parseConfiguration, parseIndex, parseManifest } from './documents.ts';
import type { Compression, Image, Layer, Wanted } from './image.ts';

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

function compressionOf(mediaType: string, layer: string): Compression {
  const found = Object.hasOwn(compressions, mediaType) ? compressions[mediaType] : undefined;
  if (found) return found;
  throw new Fault('garbled', `${layer} has the type ${JSON.stringify(mediaType)}, which is no layer of files.`);
}

/** By the first bytes, where nothing else says. */
export function sniffCompression(start: Buffer): Compression {
  if (start[0] === 0x1f && start[1] === 0x8b) return 'gzip';
  return start.length >= 4 && start.readUInt32LE(0) === 0xfd2fb528 ? 'zstd' : 'none';
}

/** Where manifests, configurations and layers lie. What `document` gives has the digest and the size that were asked for. */
export interface Blobs {
  document(descriptor: Descriptor): Promise<Buffer>;
  open(descriptor: Descriptor, signal: AbortSignal): AsyncIterable<Buffer>;
}

/** An index in an index is allowed; nobody nests them deeper. */
const mostNested = 3;

/** The image that a manifest, or an index of several, describes. `where` is what the image was asked for by. */
export async function imageIn(
  blobs: Blobs,
  top: Descriptor,
  wanted: Wanted,
  where: string,
  nested = 0,
): Promise<Image> {
  const bytes = await blobs.document(top);
  if (indexTypes.has(top.mediaType)) {
    if (nested === mostNested) throw new Fault('garbled', `The index of ${where} nests others too deeply.`);
    const chosen = choose(parseIndex(bytes, where), wanted, where);
    return imageIn(blobs, chosen, wanted, where, nested + 1);
  }
  if (!manifestTypes.has(top.mediaType))
    throw new Fault(
      'garbled',
      `${where} has the type ${JSON.stringify(top.mediaType)}, which is no image that can be read.`,
    );
  const manifest = parseManifest(bytes, where);
  const { architecture, os, rootfs } = parseConfiguration(await blobs.document(manifest.config), where);
  if (os !== 'linux') throw new Fault('invalid', `${where} is an image for ${JSON.stringify(os)}, not for linux.`);
  checkArchitecture(architecture, wanted, where);
  if (rootfs.diff_ids.length !== manifest.layers.length)
    throw new Fault('garbled', `${where} has ${manifest.layers.length} layers and ${rootfs.diff_ids.length} diff_ids.`);
  const layers = manifest.layers.map((descriptor, i): Layer => {
    const name = `Layer ${i + 1} of ${where}`;
    return {
      name,
      digest: descriptor.digest,
      size: descriptor.size,
      compression: compressionOf(descriptor.mediaType, name),
      diffId: rootfs.diff_ids[i]!,
      open: (aborted) => blobs.open(descriptor, aborted),
    };
  });
  return { digest: top.digest, architecture, layers };
}

/** An image may be labelled for another kind of machine than the index says. */
export function checkArchitecture(architecture: string, wanted: Wanted, where: string): void {
  if (architecture === wanted.architecture) return;
  throw new Fault(
    'invalid',
    `${where} is an image for ${JSON.stringify(architecture)}, not for ${wanted.architecture}; give the parameter arch if machines of that kind are meant.`,
  );
}

export function choose({ manifests }: Index, { architecture }: Wanted, where: string): Descriptor {
  const images = manifests.filter(({ mediaType }) => manifestTypes.has(mediaType) || indexTypes.has(mediaType));
  const fitting = images.filter(
    ({ platform }) =>
      (platform?.os ?? 'linux') === 'linux' && (platform === undefined || platform.architecture === architecture),
  );
  // An arm64 image may be marked v8 or not at all; a later variant would not run everywhere.
  const best = fitting.find(({ platform }) => platform && isBasic(platform.variant)) ?? fitting[0];
  if (best) return best;
  const there = [...new Set(images.map(({ platform }) => `${platform?.os}/${platform?.architecture}`))].slice(0, 20);
  throw new Fault(
    'invalid',
    `${where} has no image for linux/${architecture}, only for ${there.join(', ') || 'nothing'}.`,
  );
}

const isBasic = (variant: string | undefined): boolean => variant === undefined || ['v1', 'v8'].includes(variant);
