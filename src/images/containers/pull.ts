import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Fault, orFault } from '../../core/errors.ts';
import { openArchive } from '../../protocols/oci/archive.ts';
import type { Image, Layer } from '../../protocols/oci/image.ts';
import { parseReference } from '../../protocols/oci/reference.ts';
import type { Work } from '../../work/index.ts';
import { findKernel, type Kernel } from '../build/kernel.ts';
import { plainName } from '../bundles/bundle.ts';
import { entryOf, stagingFor, explainingDisk, usualDirectory } from '../image-job.ts';
import { type Manifest, readManifest, readManifestOf } from '../manifest.ts';
import { placeTree } from '../place-tree.ts';
import { checkStillReal } from '../real-paths.ts';
import { copyTree, placeForTree, privateTree } from '../tree/private-tree.ts';
import { inTree, makeDirectoryInTree, readInTree } from '../tree/tree-path.ts';
import { applyLayer } from './apply-layer.ts';
import { BlobCache, withFetched } from './fetch-layers.ts';
import { containerArchitecture, type Pulled, type PullJob } from './pull-job.ts';
import { TreeWriter } from './tree-writer.ts';

/** What a tree says about itself in os-release. */
interface OsRelease {
  readonly id: string;
  readonly version: string;
}

const longest = 64 * 1024;

function parseOsRelease(text: string): OsRelease {
  const values = new Map<string, string>();
  for (const line of text.slice(0, longest).split('\n')) {
    const found = /^([A-Z_]+)=(?:"([^"]*)"|'([^']*)'|(\S*))\s*$/.exec(line);
    if (found) values.set(found[1]!, found[2] ?? found[3] ?? found[4] ?? '');
  }
  return { id: (values.get('ID') ?? '').toLowerCase(), version: values.get('VERSION_ID') ?? '' };
}

/** As the reference system calls them. */
const names: Readonly<Record<string, string>> = {
  rhel: 'rhels',
  almalinux: 'alma',
  'opensuse-leap': 'leap',
};

/** `debian12`, `rocky9.4`; undefined if the tree does not say what it is. */
function osversOf({ id, version }: OsRelease): string | undefined {
  const name = Object.hasOwn(names, id) ? names[id]! : id;
  // Only streams have no minor version.
  const known = id === 'centos' && /^[89]$|^[1-9]\d$/.test(version) ? 'centos-stream' : name;
  const osvers = `${known}${version}`;
  return id !== '' && /^[a-z][A-Za-z0-9._+-]*$/.test(osvers) ? osvers : undefined;
}

/** Makes an image of a container. */
export const work = (job: PullJob, task: Work): Promise<Pulled> =>
  explainingDisk(`The image ${job.image} cannot be made`, job.installDirectory, () => pull(job, task));

async function pull(job: PullJob, task: Work): Promise<Pulled> {
  const { image: name, directory: known } = job;
  const source = await openSource(job, task.signal);
  try {
    const { image } = source;
    task.tell(`${source.shown} is ${image.digest}, ${image.layers.length} layers.`);
    const before = known === undefined ? undefined : await readManifestOf(name, known);
    const present = before && (await privateTree(known!, task.tell));
    const isSame = before?.source.digest === image.digest && (await hasKernel(job, before, task));
    if (!job.anew && known !== undefined && isSame && present !== undefined) {
      task.tell(`The image ${name} is up to date and stays as it is.`);
      return { did: 'nothing', image: name, attributes: attributesOf(before, known) };
    }
    if (before && before.source.kind !== 'container')
      throw new Fault(
        'invalid',
        `The image ${name} was not made from a container: choose another name, or remove it first.`,
      );
    const staging = await stagingFor(known ?? join(job.installDirectory, 'netboot', 'any'), task);
    const made = join(staging, 'image');
    mkdirSync(made, { mode: 0o755 });
    const tree = placeForTree(made);
    mkdirSync(tree, { mode: 0o755 });
    await applyAll(job, source, tree, task);
    return await finish(job, task, image, { made, tree }, source.shown);
  } finally {
    await source.close();
  }
}

interface Source {
  readonly image: Image;
  readonly shown: string;
  /** Whether its layers come from elsewhere and are kept. */
  readonly remote: boolean;
  close(): Promise<void>;
}

async function openSource({ from, osarch }: PullJob, signal: AbortSignal): Promise<Source> {
  const wanted = { architecture: containerArchitecture(osarch) };
  if (from.kind === 'registry') {
    // Loading it takes a while, and files do without.
    const { Registry } = await import('../../protocols/oci/registry.ts');
    const registry = new Registry(parseReference(from.reference), from);
    const source = { shown: from.reference, remote: true, close: () => registry.close() };
    return { ...source, image: await orClose(registry.image(wanted, signal), source.close) };
  }
  checkStillReal(from.path);
  const archive = await openArchive(from.path, basename(from.path), signal);
  const source = { shown: basename(from.path), remote: false, close: () => archive.close() };
  return { ...source, image: await orClose(archive.image(from.name, wanted, signal), source.close) };
}

async function orClose<T>(found: Promise<T>, close: () => Promise<void>): Promise<T> {
  try {
    return await found;
  } catch (error) {
    await close();
    throw error;
  }
}

async function applyAll(job: PullJob, { image, remote }: Source, tree: string, task: Work): Promise<void> {
  const { signal } = task;
  const stored = image.layers.reduce((sum, { size = 0 }) => sum + size, 0);
  if (stored > job.limits.bytes)
    throw new Fault('invalid', `The layers have ${stored} bytes, more than an image may have (${job.limits.bytes}).`);
  let done = 0;
  const passed = (bytes: number): void => task.progress((done += bytes), remote ? 2 * stored : stored);
  const writer = new TreeWriter(tree, job.limits);
  const apply = async (whenHere?: (layer: Layer) => Promise<Layer>): Promise<void> => {
    for (const [i, layer] of image.layers.entries()) {
      await applyLayer(whenHere ? await whenHere(layer) : layer, writer, { signal, passed });
      task.tell(`Layer ${i + 1} of ${image.layers.length} is applied.`);
    }
  };
  if (remote)
    await withFetched(image.layers, { cache: new BlobCache(job.blobs), beside: job.blobs, passed }, task, apply);
  else await apply();
  writer.finish();
  if (writer.unkept.length > 0)
    task.tell(`The file system does not keep these extended attributes: ${writer.unkept.join(', ')}.`);
}

/** The tree is there: what it is, its kernel, and its place. */
async function finish(
  job: PullJob,
  task: Work,
  image: Image,
  { made, tree }: { readonly made: string; readonly tree: string },
  reference: string,
): Promise<Pulled> {
  const { image: name, osarch, profile } = job;
  const osvers = job.osvers ?? (await osversIn(tree));
  const directory =
    job.directory ?? usualDirectory(job.installDirectory, { method: 'netboot', osvers, osarch, profile });
  checkStillReal(directory);
  const before = await readManifestOf(name, directory);
  if (before) await privateTree(directory, task.tell);
  else if (entryOf(directory))
    throw new Fault(
      'invalid',
      `${directory} exists and muster did not make it. Move it away, or give another profile.`,
    );
  const kernel = await kernelFor(job, task, tree);
  if (!kernel) task.tell('It has no kernel: to boot it, name an image that has one by the parameter kernel.');
  const manifest = await placeTree({ image: name, osvers, osarch, profile, directory, by: job.by }, task, {
    made,
    tree,
    kernel,
    before,
    source: {
      kind: 'container',
      lists: [],
      reference,
      digest: image.digest,
      layers: image.layers.map(({ digest, diffId }) => digest ?? diffId),
      ...(job.kernel === undefined ? {} : { kernelFrom: job.kernel.image }),
    },
  });
  if (job.from.kind === 'registry') await prune(job, directory, task);
  task.tell(`The image ${name} of ${osvers} for ${osarch} is in place, with ${manifest.packages.length} packages.`);
  return { did: 'made', image: name, attributes: attributesOf(manifest, directory) };
}

async function osversIn(tree: string): Promise<string> {
  const text = (await readInTree(tree, '/etc/os-release')) ?? (await readInTree(tree, '/usr/lib/os-release'));
  const osvers = text && osversOf(parseOsRelease(text.toString()));
  if (osvers !== undefined && plainName.test(osvers)) return osvers;
  throw new Fault(
    'invalid',
    'The container does not say in /etc/os-release which operating system it is: give the parameter osvers, such as debian12.',
  );
}

/** Whether the image has the kernel that is wanted now; without a wish it keeps the one that it has. */
async function hasKernel({ kernel: wanted }: PullJob, { kernel, source }: Manifest, task: Work): Promise<boolean> {
  if (wanted === undefined) return true;
  return source.kernelFrom === wanted.image && kernel === (await kernelOf(wanted, task)).version;
}

async function kernelOf({ image, directory }: NonNullable<PullJob['kernel']>, task: Work): Promise<Kernel> {
  const tree = (await readManifest(directory)) && (await privateTree(directory, task.tell));
  const found = tree && findKernel(tree, '');
  if (found) return found;
  throw new Fault('invalid', `The image ${image} has no kernel with modules that could be taken.`);
}

/** Of the tree; or another image's, whose modules become part of the tree. */
async function kernelFor({ kernel: wanted }: PullJob, task: Work, tree: string): Promise<Kernel | undefined> {
  if (wanted === undefined) return findKernel(tree, '');
  const found = await kernelOf(wanted, task);
  const modules = inTree(tree, `/lib/modules/${found.version}`);
  if (!entryOf(modules)) {
    await makeDirectoryInTree(tree, inTree(tree, '/lib/modules').slice(tree.length), { mode: 0o755 });
    await copyTree(task, found.modules, modules);
  }
  task.tell(`The kernel ${found.version} and its modules are taken from the image ${wanted.image}.`);
  return { ...found, modules };
}

const attributesOf = ({ osvers, osarch, profile }: Manifest, directory: string): Record<string, string> => ({
  imagetype: 'linux',
  osname: 'Linux',
  provmethod: 'netboot',
  osvers,
  osarch,
  profile,
  rootimgdir: directory,
});

/** Layers that no image was made from any more go. Where it is not known what an image was made from, all stay. */
async function prune({ blobs, directories }: PullJob, own: string, task: Work): Promise<void> {
  const used = new Set<string>();
  for (const directory of new Set([...directories, own])) {
    const manifest = await orFault(readManifest(directory).then((found) => ({ found })));
    if ('sentences' in manifest) return task.tell(`Old layers are kept: ${manifest.sentences.join(' ')}`);
    for (const digest of manifest.found?.source.layers ?? []) used.add(digest);
  }
  await new BlobCache(blobs).prune(used);
}
