import { Fault } from '../../core/errors.ts';
import { named } from './named.ts';
import type { Bag } from './bag.ts';
import { type Blobs, choose, imageIn } from './choose.ts';
import { digestOf, hexOf } from './digest.ts';
import { missing } from './directory-bag.ts';
import { type Descriptor, jsonOf, mostDocumentBytes, parseIndex } from './documents.ts';
import type { Image, Wanted } from './image.ts';

const tagKey = 'org.opencontainers.image.ref.name';
const nameKey = 'io.containerd.image.name';

export async function layoutImage(bag: Bag, name: string | undefined, wanted: Wanted): Promise<Image> {
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
  const manifests = named(found, name, bag.where);
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
