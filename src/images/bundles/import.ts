import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync } from 'node:fs';
import { link, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import type { Work } from '../../work/index.ts';
import { hashFile } from '../build/fingerprint.ts';
import { actNow, entryOf, putInPlace, explainingDisk, usualDirectory } from '../image-job.ts';
import { type Manifest, manifestFile, type Pack, packsName, readManifest, writeManifest } from '../manifest.ts';
import { checkStillReal } from '../real-paths.ts';
import { fileAttributes, localAttributes, plainName } from './bundle.ts';
import { type Contents, unpackBundle, type Unpacked } from './unpack.ts';

export interface ImportJob {
  readonly file: string;
  readonly installDirectory: string;
  /** What the image is called here; undefined: as in the bundle. */
  readonly name?: string;
  readonly profile?: string;
  /** The architecture that is wanted. */
  readonly osarch: string;
  /** Names that are taken. */
  readonly taken: readonly string[];
  /** Attributes that images have. */
  readonly known: readonly string[];
  readonly by: string;
}

export interface Imported {
  readonly image: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** What is in a bundle, whoever made it. */
interface Image {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Files by the attribute that names them. */
  readonly lists: readonly { readonly attribute: string; readonly name: string; readonly file: Unpacked }[];
  /** Of the packed image, by their names beside the manifest. */
  readonly parts: readonly { readonly name: string; readonly file: Unpacked }[];
  readonly method: string;
  readonly compress: string;
  readonly packages: Manifest['packages'];
  readonly kernel: string | undefined;
}

/** Makes an image of a bundle. */
export const work = (job: ImportJob, task: Work): Promise<Imported> =>
  explainingDisk(`${job.file} cannot be imported`, job.installDirectory, () => importImage(job, task));

async function importImage(job: ImportJob, task: Work): Promise<Imported> {
  checkStillReal(job.installDirectory);
  const staging = await task.staging(job.installDirectory);
  const unpacked = join(staging, 'unpacked');
  mkdirSync(unpacked);
  const image = imageOf(await unpackBundle(job.file, unpacked, task), job.file);
  const name = checkPlace(job, image);
  const attributes: Record<string, string> = Object.fromEntries(
    Object.entries(image.attributes).filter(
      ([key]) => job.known.includes(key) && !localAttributes.includes(key) && !isFileAttribute(key),
    ),
  );
  if (job.profile !== undefined) attributes['profile'] = job.profile;
  const lists = join(job.installDirectory, 'custom', 'imported', name);
  const directory = usualDirectory(job.installDirectory, {
    method: attributes['provmethod'] ?? '',
    osvers: attributes['osvers']!,
    osarch: attributes['osarch']!,
    profile: attributes['profile']!,
  });
  for (const [attribute, paths] of Object.entries(await arrangeLists(staging, lists, image)))
    attributes[attribute] = paths;
  if (image.parts.length > 0) {
    attributes['rootimgdir'] = directory;
    await arrangeImage(job, task, join(staging, 'image'), { ...image, name, attributes });
  }
  task.signal.throwIfAborted();
  const made = [
    ...(image.lists.length > 0 ? [{ from: join(staging, 'lists'), to: lists }] : []),
    ...(image.parts.length > 0 ? [{ from: join(staging, 'image'), to: directory }] : []),
  ];
  const missing: typeof made = [];
  for (const each of made) if (!(await isThere(each.from, each.to))) missing.push(each);
  const placed: string[] = [];
  try {
    for (const { from, to } of missing) {
      await putInPlace(from, to);
      placed.push(to);
    }
  } catch (error) {
    for (const place of placed) await rm(place, { recursive: true });
    throw error;
  }
  task.tell(`The image ${name} of ${attributes['osvers']} for ${attributes['osarch']} is in place.`);
  return { image: name, attributes };
}

/** Whether just this is in its place: an import that was killed, or whose image could not be defined, has left it. */
async function isThere(from: string, to: string): Promise<boolean> {
  checkStillReal(to);
  if (!entryOf(to)) return false;
  if (await haveSameFiles(from, to)) return true;
  throw new Fault(
    'invalid',
    `${to} exists already. Move it away, or import the image with another name and profile: params [{"name":"...","profile":"..."}].`,
  );
}

/** Manifests differ in who made them when. */
async function haveSameFiles(one: string, other: string): Promise<boolean> {
  const filesIn = (directory: string): string[] =>
    readdirSync(directory, { recursive: true, encoding: 'utf8' })
      .filter((name) => !entryOf(join(directory, name))!.isDirectory())
      .sort();
  const names = filesIn(one);
  if (!entryOf(other)!.isDirectory() || names.join('\n') !== filesIn(other).join('\n')) return false;
  for (const name of names) {
    const [own, there] = [join(one, name), join(other, name)];
    if (!entryOf(there)!.isFile()) return false;
    if (name === manifestFile) {
      const [ours, theirs] = [await readManifest(one), await readManifest(other)];
      if (ours?.image !== theirs?.image || theirs?.source.kind !== 'bundle') return false;
    } else if ((await hashFile(own)) !== (await hashFile(there))) return false;
  }
  return true;
}

/** The name it gets, if that and all that becomes part of a path can be used. */
function checkPlace(
  { file, name: wanted, profile, osarch, taken }: ImportJob,
  { name: own, attributes }: Image,
): string {
  const name = wanted ?? own;
  const words = {
    name,
    osvers: attributes['osvers'] ?? '',
    osarch: attributes['osarch'] ?? '',
    profile: profile ?? attributes['profile'] ?? '',
  };
  for (const [what, value] of Object.entries(words))
    if (!plainName.test(value)) throw new Fault('invalid', `${file}: ${what} ${JSON.stringify(value)} cannot be used.`);
  if (words.osarch !== osarch)
    throw new Fault(
      'invalid',
      `${file} is an image for ${words.osarch}, not for ${osarch}. If that is what you want, say so: params [{"arch":"${words.osarch}"}].`,
    );
  if (taken.includes(name))
    throw new Fault(
      'invalid',
      `There is an image ${name} already. Import it under another name, params [{"name":"..."}], or remove that one first.`,
    );
  return name;
}

const isFileAttribute = (key: string): boolean => fileAttributes.some((each) => each === key);

function imageOf({ files, bundle, reference }: Contents, what: string): Image {
  if (bundle) {
    const { image, attributes, members, pack, packages, kernel } = bundle;
    const file = (name: string): Unpacked => files.get(name)!;
    return {
      name: image,
      attributes,
      lists: members.flatMap(({ name, attribute }) =>
        attribute === undefined || !isFileAttribute(attribute)
          ? []
          : { attribute, name: basename(name), file: file(name) },
      ),
      parts: members.flatMap(({ name, attribute }) =>
        attribute === undefined ? { name: partName(basename(name), what), file: file(name) } : [],
      ),
      method: pack?.method ?? '',
      compress: pack?.compress ?? '',
      packages,
      kernel,
    };
  }
  return referenceImage(files, reference!, what);
}

/** The reference system puts all files beside manifest.xml, which says where they were. */
function referenceImage(
  files: ReadonlyMap<string, Unpacked>,
  values: Readonly<Record<string, string>>,
  what: string,
): Image {
  const missing = ['imagename', 'provmethod', 'profile', 'osvers', 'osarch'].find((key) => !values[key]);
  if (missing !== undefined) throw new Fault('invalid', `${what}: manifest.xml does not name the image's ${missing}.`);
  const byName = new Map([...files].map(([name, file]) => [basename(name), file]));
  const lists = fileAttributes.flatMap((attribute) =>
    (values[attribute] ?? '').split(',').flatMap((path) => {
      const file = byName.get(basename(path.trim()));
      return file ? { attribute, name: basename(path.trim()), file } : [];
    }),
  );
  const parts = [...byName].flatMap(([name, file]) => (isPart(name) ? { name, file } : []));
  return {
    name: values['imagename']!,
    attributes: values,
    lists,
    parts,
    method: byName.has('rootimg.sfs') ? 'squashfs' : 'cpio',
    compress: '',
    packages: [],
    kernel: undefined,
  };
}

const isPart = (name: string): boolean =>
  /^(rootimg\.(sfs|gz|(cpio|tar)\.(gz|xz))|kernel|initrd[A-Za-z0-9.-]*)$/.test(name);

function partName(name: string, what: string): string {
  if (isPart(name)) return name;
  throw new Fault('invalid', `${what}: ${JSON.stringify(name)} is not a part of a packed image.`);
}

/** Lays the lists out under the names they had; what the attributes are then. */
async function arrangeLists(staging: string, place: string, { lists }: Image): Promise<Record<string, string>> {
  const paths: Record<string, string[]> = {};
  mkdirSync(join(staging, 'lists'), { mode: 0o755 });
  for (const [index, { attribute, name, file }] of lists.entries()) {
    const safe = plainName.test(name) ? name : `${attribute}.${index}`;
    const own = entryOf(join(staging, 'lists', safe)) ? `${index}.${safe}` : safe;
    await rename(file.path, join(staging, 'lists', own));
    (paths[attribute] ??= []).push(join(place, own));
  }
  return Object.fromEntries(Object.entries(paths).map(([attribute, all]) => [attribute, all.join(',')]));
}

/** Lays the packed image out as packing does. */
async function arrangeImage(job: ImportJob, task: Work, made: string, image: Image): Promise<void> {
  const act = actNow(job, task);
  const parts = image.parts.map(({ name, file: { sha256, size } }) => ({ file: name, sha256, size }));
  const id = createHash('sha256')
    .update(parts.map(({ sha256 }) => sha256).join('\n'))
    .digest('hex')
    .slice(0, 16);
  const inside = join(made, packsName, id);
  mkdirSync(inside, { recursive: true, mode: 0o755 });
  for (const { name, file } of image.parts) {
    await rename(file.path, join(inside, name));
    await link(join(inside, name), join(made, name));
  }
  const { method, compress, packages, attributes } = image;
  const pack: Pack = { id, method, compress, parts, packages: packages.length, lists: [], made: act };
  writeManifest(made, {
    image: image.name,
    osvers: attributes['osvers']!,
    osarch: attributes['osarch']!,
    profile: attributes['profile']!,
    made: act,
    source: { kind: 'bundle', lists: [], reference: basename(job.file) },
    packages,
    runs: [],
    ...(image.kernel === undefined ? {} : { kernel: image.kernel }),
    files: parts.map(({ file }) => file),
    packs: [pack],
    current: id,
  });
}
