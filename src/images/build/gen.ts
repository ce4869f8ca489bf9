import { copyFileSync, mkdirSync } from 'node:fs';
import { chmod, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { syncFileSystem } from '../../core/sync-file-system.ts';
import type { Work } from '../../work/index.ts';
import { actNow, entryOf, putInPlace, stagingFor, explainingDisk } from '../image-job.ts';
import { type Manifest, readManifest, readManifestOf, replaceParts, treeName, writeManifest } from '../manifest.ts';
import { copyTree, placeForTree, privateTree, replaceTree } from '../tree/private-tree.ts';
import { inNamespaces } from '../tree/in-namespaces.ts';
import { installedIn } from '../tree/installed.ts';
import { debian } from './debian.ts';
import { checkRunnable, type Family } from '../../objects/distributions.ts';
import { asText, fingerprintOf, hashFile, updateOf } from './fingerprint.ts';
import type { GenJob, Recipe, TreeBuilder, TreeChanges } from './gen-job.ts';
import { makeInitramfs } from './initramfs.ts';
import { kernelIn } from './kernel.ts';
import { dnf, zypper } from './rpm.ts';

export interface GenMade {
  readonly did: 'nothing' | 'updated' | 'built';
  readonly packages: number;
}

const builders: Readonly<Record<Family, TreeBuilder>> = { apt: debian, dnf, zypper };

/** Builds an image's tree with kernel and initial RAM disk, or brings it up to date. */
export const work = (job: GenJob, task: Work): Promise<GenMade> =>
  explainingDisk(`The image ${job.image} cannot be built`, job.directory, () => build(job, task));

async function build(job: GenJob, task: Work): Promise<GenMade> {
  const { image, directory, recipe } = job;
  const before = await readManifestOf(image, directory);
  if (!before && entryOf(join(directory, treeName)))
    throw new Fault(
      'invalid',
      `${directory}/${treeName} exists and muster did not make it. Move it away, or give the image another rootimgdir.`,
    );
  const present = await privateTree(directory, task.tell);
  const fingerprint = await fingerprintOf(job, task);
  if (!job.anew && before?.source.fingerprint === asText(fingerprint) && present !== undefined) {
    task.tell(`Nothing has changed since ${before.made.when}; the image stays as it is.`);
    return { did: 'nothing', packages: before.packages.length };
  }
  checkRunnable(recipe.osarch);
  const staging = await stagingFor(directory, task);
  const made = join(staging, 'image');
  mkdirSync(made, { mode: 0o755 });
  const tree = placeForTree(made);
  const changes =
    job.anew || !before || present === undefined ? undefined : changesOf(before, recipe, fingerprint.repositories);
  const builder = builders[recipe.family];
  const scratch = join(staging, 'scratch');
  mkdirSync(scratch);
  if (changes) {
    const words = [
      `${changes.add.length} to install`,
      `${changes.drop.length} to remove`,
      ...(changes.upgrade ? ['upgrades'] : []),
    ];
    task.tell(`The tree is brought up to date by ${builder.tool}: ${words.join(', ')}.`);
    await copyTree(task, present!, tree);
    await builder.update(task, recipe, tree, scratch, changes);
  } else {
    task.tell(`A new tree is built from ${recipe.packages.sources.map(nameOf).join(', ')}.`);
    await builder.create(task, recipe, tree, scratch);
  }
  await runPostinstall(job, task, tree);
  await chmod(tree, job.permission);
  const packages = await installedIn(task, tree);
  const kernel = kernelIn(tree, recipe.kernelver);
  copyFileSync(kernel.file, join(made, 'kernel'));
  await chmod(join(made, 'kernel'), 0o644);
  const initrd = `initrd-${recipe.method === 'statelite' ? 'statelite' : 'stateless'}.gz`;
  await makeInitramfs(task, recipe, tree, kernel, join(made, initrd));
  task.signal.throwIfAborted();
  const { osvers, osarch, profile, lists } = job;
  const manifest: Manifest = {
    image,
    osvers,
    osarch,
    profile,
    made: actNow(job, task),
    source: { kind: 'packages', lists: [...lists], fingerprint: asText(fingerprint), recipe },
    packages,
    runs: [],
    kernel: kernel.version,
    files: ['kernel', initrd],
    packs: before?.packs ?? [],
    ...(before?.current === undefined ? {} : { current: before.current }),
  };
  await commit(directory, made, manifest, before);
  task.tell(`${packages.length} packages, kernel ${kernel.version}.`);
  return { did: changes ? 'updated' : 'built', packages: packages.length };
}

const nameOf = (source: Recipe['packages']['sources'][number]): string =>
  source.kind === 'url' ? source.url : source.path;

/** What the package manager can do with the tree that is there; undefined if it has to be built again. */
function changesOf({ source, runs }: Manifest, recipe: Recipe, repositories: string): TreeChanges | undefined {
  if (source.kind !== 'packages' || !source.recipe || !source.fingerprint || runs.length > 0) return undefined;
  const update = updateOf(source.recipe as Recipe, recipe);
  return update && { ...update, upgrade: !source.fingerprint.endsWith(`.${repositories}`) };
}

/**
 * The scripts run in the tree, with the reference system's arguments: the root, the version, the architecture, the profile, and the
 * directory of the script, where it finds what lies beside it.
 */
async function runPostinstall({ recipe, osvers, osarch, profile }: GenJob, task: Work, tree: string): Promise<void> {
  for (const { path, sha256 } of recipe.postinstall) {
    if ((await hashFile(path)) !== sha256) throw new Fault('invalid', `${path} was changed just now; try again.`);
    task.tell(`postinstall ${path}`);
    const beside = '/run/muster/0';
    await inNamespaces(task, [`${beside}/${basename(path)}`, '/', osvers, osarch, profile, beside], {
      tree,
      binds: [dirname(path)],
      env: { HOME: '/root' },
    });
  }
}

/** A new image, in a staging, appears as a whole; of one that was there tree and files are replaced, the manifest last. */
export async function commit(
  directory: string,
  made: string,
  manifest: Manifest,
  before: Manifest | undefined,
): Promise<void> {
  await syncFileSystem(made);
  const now = await readManifest(directory);
  if (JSON.stringify(now) !== JSON.stringify(before))
    throw new Fault(
      'conflict',
      `Another request changed ${directory} meanwhile, for the image ${now?.image}; try again.`,
    );
  if (!entryOf(directory)) {
    writeManifest(made, manifest);
    await putInPlace(made, directory);
    return;
  }
  await replaceParts({ staging: dirname(made), directory }, { before, after: manifest }, async () => {
    await replaceTree(made, directory);
    for (const file of manifest.files)
      if (entryOf(join(made, file))) await rename(join(made, file), join(directory, file));
    for (const file of before?.files ?? [])
      if (!manifest.files.includes(file)) await rm(join(directory, file), { force: true });
  });
}
