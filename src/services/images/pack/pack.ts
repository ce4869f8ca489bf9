import { createHash } from 'node:crypto';
import { mkdirSync, statSync } from 'node:fs';
import { link } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFile } from '../../../core/files.ts';
import { Fault } from '../../../core/errors.ts';
import type { Work } from '../../long-work/work.ts';
import { hashFile } from '../build/fingerprint.ts';
import { findKernel } from '../build/kernel.ts';
import { actNow, entryOf, epochOf, type ImageJob, stagingFor, tellingDisk } from '../image-job.ts';
import { type Manifest, type Pack, type Part, packsName, readManifestOf } from '../manifest.ts';
import { changeableView } from '../tree/changeable-view.ts';
import { installedIn } from '../tree/installed.ts';
import { privateTree } from '../tree/private-tree.ts';
import { authorizeKey, nameImage, removeIdentity, setRootPassword } from './access.ts';
import { exclude } from './exclusions.ts';
import { keepPack } from './kept-packs.ts';
import { stageRamdisk } from './stage-ramdisk.ts';
import { checkDiskTools, keepingBoot } from './disk-tools.ts';
import type { PackJob } from './pack-job.ts';
import { packRoot } from './packed-root.ts';

/** Packs an image's tree for nodes. The tree itself stays as it is. */
export const work = (job: PackJob, task: Work): Promise<Pack> =>
  tellingDisk(`The image ${job.image} cannot be packed`, job.directory, () => pack(job, task));

async function pack(job: PackJob, task: Work): Promise<Pack> {
  const { image, directory } = job;
  const known = await readManifestOf(image, directory);
  // Ours are removed when there are too many.
  if (!known && entryOf(join(directory, packsName)))
    throw new Fault(
      'invalid',
      `${directory}/${packsName} exists and muster did not make it. Move it away, or give the image another rootimgdir.`,
    );
  const tree = await privateTree(directory, task.tell);
  if (tree === undefined)
    throw new Fault(
      'invalid',
      `The image ${image} has no tree in ${directory}; build it first: POST instance {"action":"gen"}.`,
    );
  const staging = await stagingFor(directory, task);
  const made = join(staging, 'pack');
  mkdirSync(made, { mode: 0o755 });
  const root = await changeableView(task, tree, staging);
  const before = known ?? (await adopted(job, task, tree));
  const time = epochOf(before.runs.at(-1)?.made ?? before.made);
  if (job.toDisk) checkDiskTools(image, root);
  const gone = exclude(root, job.toDisk ? keepingBoot(job.exclusions) : job.exclusions);
  if (gone > 0) task.tell(`${gone} entries are left out.`);
  await removeIdentity(root, time);
  if (job.password !== undefined) await setRootPassword(root, job.password, time);
  else task.tell('Table passwd has no password for root (key system): nobody can log in with one.');
  await authorizeKey(root, job.key, time);
  await nameImage(root, image, before.made.when, time);
  if (job.sync.length > 0) {
    const { syncInto } = await import('./sync-files.ts');
    for (const line of await syncInto(root, job.sync, time)) task.tell(line);
  }
  task.signal.throwIfAborted();
  const others = before.files.filter((name) => entryOf(join(directory, name)));
  for (const name of others) await link(join(directory, name), join(made, name));
  // While the tree is looked through, which keeps one processor busy, another has time for the rest.
  const [file, otherParts, offerRamdisk] = await allOf([
    packRoot(task, job, root, made, time),
    allOf(others.map((name) => partOf(made, name))),
    stageRamdisk(task, made, job.ramdisk, others),
  ]);
  const [part] = await allOf([partOf(made, file), syncFile(join(made, file))]);
  const parts = [part, ...otherParts];
  const { method, compress, lists } = job;
  const id = createHash('sha256')
    .update(parts.map(({ sha256 }) => sha256).join('\n'))
    .digest('hex')
    .slice(0, 16);
  const done: Pack = {
    id,
    method,
    compress,
    parts,
    packages: before.packages.length,
    lists: [...lists],
    made: actNow(job, task),
  };
  task.signal.throwIfAborted();
  await keepPack({ directory, staging, made }, before, done, job.kept);
  await offerRamdisk();
  task.tell(`${file}: ${part.size} bytes, SHA-256 ${part.sha256}.`);
  return done;
}

/** All of them, or the first problem, when none is under way any more. */
async function allOf<const T extends readonly Promise<unknown>[]>(works: T) {
  await Promise.allSettled(works);
  return Promise.all(works);
}

export async function partOf(directory: string, file: string): Promise<Part> {
  const path = join(directory, file);
  return { file, sha256: await hashFile(path), size: statSync(path).size };
}

/** A tree that was there before muster can be packed; it is never removed. */
async function adopted(job: ImageJob, task: Work, tree: string): Promise<Manifest> {
  const { image, osvers, osarch, profile, directory } = job;
  const kernel = findKernel(tree, '');
  const files = ['kernel', 'initrd-stateless.gz', 'initrd-statelite.gz'].filter((name) =>
    entryOf(join(directory, name))?.isFile(),
  );
  task.tell(`muster did not make ${tree}; it is packed as it is.`);
  return {
    image,
    osvers,
    osarch,
    profile,
    made: { ...actNow(job, task), when: statSync(tree).mtime.toISOString() },
    source: { kind: 'found', lists: [] },
    packages: await installedIn(task, tree),
    runs: [],
    ...(kernel ? { kernel: kernel.version } : {}),
    files,
    packs: [],
  };
}
