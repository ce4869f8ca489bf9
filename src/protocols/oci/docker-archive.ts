import { Fault } from '../../core/errors.ts';
import type { Bag } from './bag.ts';
import { checkArchitecture } from './choose.ts';
import { digestOf } from './digest.ts';
import { missing } from './directory-bag.ts';
import { mostDocumentBytes, parseConfiguration, parseDockerArchive } from './documents.ts';
import type { Image, Layer, Wanted } from './image.ts';
import { sniffCompression } from './media-types.ts';
import { named } from './named.ts';

/** What docker save writes: manifest.json names the configuration and the layers of each image. */
export async function dockerImage(
  bag: Bag,
  name: string | undefined,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<Image> {
  const images = parseDockerArchive((await bag.read('manifest.json', mostDocumentBytes))!, bag.where);
  const chosen = named(
    images.map((each) => [each, each.RepoTags ?? []] as const),
    name,
    bag.where,
  );
  const config = await bag.read(inBag(chosen.Config), mostDocumentBytes);
  if (!config) throw missing(chosen.Config, bag.where);
  const { architecture, rootfs } = parseConfiguration(config, bag.where);
  checkArchitecture(architecture, wanted, bag.where);
  if (rootfs.diff_ids.length !== chosen.Layers.length)
    throw new Fault(
      'garbled',
      `${bag.where} has ${chosen.Layers.length} layers and ${rootfs.diff_ids.length} diff_ids.`,
    );
  const layers = await Promise.all(
    chosen.Layers.map((file, i) => layerOf(bag, inBag(file), rootfs.diff_ids[i]!, i, signal)),
  );
  return { digest: digestOf(config), architecture, layers };
}

async function layerOf(bag: Bag, file: string, diffId: string, i: number, signal: AbortSignal): Promise<Layer> {
  const size = await bag.sizeOf(file);
  if (size === undefined) throw missing(file, bag.where);
  const start = await firstBytes(bag.open(file, signal));
  return {
    name: `Layer ${i + 1} of ${bag.where}`,
    digest: undefined,
    size,
    // Its name does not tell.
    compression: sniffCompression(start),
    diffId,
    open: (aborted) => bag.open(file, aborted),
  };
}

async function firstBytes(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  for await (const piece of pieces) return piece;
  return Buffer.alloc(0);
}

/** Names of files come from the archive: in a directory they must not lead out of it. */
function inBag(name: string): string {
  if (name.startsWith('/') || name.split('/').includes('..') || name.includes('\0'))
    throw new Fault(
      'garbled',
      `manifest.json names the file ${JSON.stringify(name.slice(0, 200))}, which leads elsewhere.`,
    );
  return name;
}
