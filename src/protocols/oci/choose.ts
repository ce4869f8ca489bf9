import { Fault } from '../../core/errors.ts';
import { type Descriptor, type Index, parseConfiguration, parseIndex, parseManifest } from './documents.ts';
import type { Image, Layer, Wanted } from './image.ts';
import { compressionOf, indexTypes, manifestTypes } from './media-types.ts';

/** Where manifests, configurations and layers lie. What `document` gives has the digest and the size that were asked for. */
export interface Blobs {
  document(descriptor: Descriptor): Promise<Buffer>;
  open(descriptor: Descriptor, signal: AbortSignal): AsyncIterable<Buffer>;
}

/** An index in an index is allowed; nobody nests them deeper. */
const mostNested = 3;

/** The image that a manifest, or an index of several, tells of. `where` is what the image was asked for by. */
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
