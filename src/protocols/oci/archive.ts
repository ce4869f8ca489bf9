import { stat } from 'node:fs/promises';
import { Fault } from '../../core/errors.ts';
import { type Blobs, checkArchitecture, choose, imageIn, sniffCompression } from './choose.ts';
import { DirectoryBag, missing } from './directory-bag.ts';
import {
  type Descriptor,
  jsonOf,
  mostDocumentBytes,
  parseConfiguration,
  parseDockerArchive,
  parseIndex,
} from './documents.ts';
import type { Bag, Image, Layer, Wanted } from './image.ts';
import { digestOf, documentNamed, hexOf } from './reference.ts';
import { TarBag } from './tar-bag.ts';

const tagKey = 'org.opencontainers.image.ref.name';
const nameKey = 'io.containerd.image.name';

async function layoutImage(bag: Bag, name: string | undefined, wanted: Wanted): Promise<Image> {
  const version = jsonOf((await bag.read('oci-layout', mostDocumentBytes))!, `oci-layout in ${bag.where}`);
  const { imageLayoutVersion } = (version ?? {}) as { imageLayoutVersion?: unknown };
  if (imageLayoutVersion !== '1.0.0')
    throw new Fault('garbled', `${bag.where} is a layout of version ${JSON.stringify(imageLayoutVersion)}, not 1.0.0.`);
  const bytes = await bag.read('index.json', mostDocumentBytes);
  if (!bytes) throw missing('index.json', bag.where);
  const index = parseIndex(bytes, bag.where);
  // The images of one name are one image for several kinds of machines.
  const groups = new Map<string, Descriptor[]>();
  for (const each of index.manifests) {
    const key = namesOf(each).join('\n');
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  const found = [...groups.values()].map((each) => [each, namesOf(each[0]!)] as const);
  const manifests = documentNamed(found, name, bag.where);
  const top = manifests.length === 1 ? manifests[0]! : choose({ ...index, manifests }, wanted, bag.where);
  return imageIn(blobsOf(bag), top, wanted, bag.where);
}

const namesOf = ({ annotations }: Descriptor): string[] =>
  [annotations?.[tagKey], annotations?.[nameKey]].filter((each) => each !== undefined);

const fileOf = (digest: string): string => `blobs/sha256/${hexOf(digest)}`;

const blobsOf = (bag: Bag): Blobs => ({
  async document(descriptor) {
    const bytes = await bag.read(fileOf(descriptor.digest), mostDocumentBytes);
    if (!bytes) throw missing(fileOf(descriptor.digest), bag.where);
    checkDocument(bytes, descriptor, bag.where);
    return bytes;
  },
  open: ({ digest }, signal) => bag.open(fileOf(digest), signal),
});

export function checkDocument(bytes: Buffer, { digest, size }: Descriptor, where: string): void {
  if (bytes.length !== size)
    throw new Fault('garbled', `${digest} of ${where} has ${bytes.length} bytes instead of ${size}.`);
  if (digestOf(bytes) !== digest) throw new Fault('garbled', `${digest} of ${where} is not what its digest says.`);
}

/** What docker save writes: manifest.json names the configuration and the layers of each image. */
async function dockerImage(bag: Bag, name: string | undefined, wanted: Wanted, signal: AbortSignal): Promise<Image> {
  const images = parseDockerArchive((await bag.read('manifest.json', mostDocumentBytes))!, bag.where);
  const chosen = documentNamed(
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
    // Its name does not say.
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

/** A container image in a file or a directory. */
interface Archive {
  /** The image with that name or tag; without one, the only one there is. */
  image(name: string | undefined, wanted: Wanted, signal: AbortSignal): Promise<Image>;
  close(): Promise<void>;
}

/** `path` was resolved: an OCI layout as a directory or a tar archive, or what docker save writes. */
export async function openArchive(path: string, shown: string, signal: AbortSignal): Promise<Archive> {
  const bag = (await isDirectory(path, shown)) ? new DirectoryBag(path, shown) : await TarBag.open(path, shown, signal);
  return {
    image: async (name, wanted, aborted) => {
      if ((await bag.sizeOf('oci-layout')) !== undefined) return layoutImage(bag, name, wanted);
      if ((await bag.sizeOf('manifest.json')) !== undefined) return dockerImage(bag, name, wanted, aborted);
      throw noImage(bag);
    },
    close: () => bag.close(),
  };
}

const noImage = ({ where }: Bag): Fault =>
  new Fault(
    'invalid',
    `${where} holds no container image: neither oci-layout, as OCI layouts have it, nor manifest.json, as docker save writes it, is there.`,
  );

async function isDirectory(path: string, shown: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    throw new Fault('invalid', `${shown} cannot be read: ${(error as Error).message}.`, { cause: error });
  }
}
