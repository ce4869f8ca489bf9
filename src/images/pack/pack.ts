import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { copyFile, link, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { syncFile } from '../../core/files.ts';
import { inQuotes } from '../../core/shell-words.ts';
import type { Work } from '../../work/index.ts';
import { hashFile } from '../build/fingerprint.ts';
import { findKernel } from '../build/kernel.ts';
import { actNow, entryOf, epochOf, type ImageJob, stagingFor, explainingDisk } from '../image-job.ts';
import { type Manifest, type Pack, packsName, type Part, readManifestOf } from '../manifest.ts';
import { changeableView, privateTree } from '../tree/private-tree.ts';
import { installedIn } from '../tree/installed.ts';
import { inTree, keepingTime, makeDirectoryInTree, readInTree, writeInTree } from '../tree/tree-path.ts';
import { exclude, type Exclusions } from './exclusions.ts';
import { keepPack } from './kept-packs.ts';
import type { PackJob } from './pack-job.ts';
import { packInputs } from './pack-inputs.ts';
import { packRoot } from './packed-root.ts';

/**
 * Machines without an image boot the kernel and initial RAM disk of the one that was packed last for their architecture. Both are copied
 * beside `place`, so that a full disk changes nothing; what is returned puts them there at once, as `kernel` and `initrd`.
 */
async function stageRamdisk(
  task: Work,
  from: string,
  place: string,
  files: readonly string[],
): Promise<() => Promise<void>> {
  const initrd = files.find((file) => file.startsWith('initrd-'));
  if (initrd === undefined || !files.includes('kernel')) return async () => undefined;
  await mkdir(dirname(place), { recursive: true });
  const made = join(await task.staging(dirname(place)), 'ramdisk');
  await mkdir(made, { mode: 0o755 });
  await copyFile(join(from, 'kernel'), join(made, 'kernel'));
  await copyFile(join(from, initrd), join(made, 'initrd'));
  // What it loads takes a while, of which there is enough while the root is packed.
  const { exchange } = await import('../../core/exchange.ts');
  return async () => {
    if (entryOf(place)) return exchange(made, place);
    await rename(made, place).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
      // Another image was packed in this moment.
      exchange(made, place);
    });
  };
}

/** Programs by which the initial RAM disk writes an image to a disk, and the packages of Debian and of RPM distributions that have them. */
const tools: readonly (readonly [names: readonly string[], packages: string])[] = [
  [['sfdisk'], 'fdisk or util-linux'],
  [['mkfs.ext4'], 'e2fsprogs'],
  [['mkfs.vfat'], 'dosfstools'],
  [['grub-install', 'grub2-install'], 'grub2-common with grub-pc-bin and grub-efi-amd64-bin, or grub2-tools'],
];
const directories = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Refuses a tree that would fail on every node that it is written to. */
function checkDiskTools(image: string, tree: string): void {
  const missing = tools.filter(([names]) => !names.some((name) => directories.some((at) => isThere(tree, at, name))));
  const lines = missing.map(([[name], packages]) => `${name} (${packages})`);
  if (!bootFiles(tree).some((name) => name.startsWith('init')))
    lines.push('an initial RAM disk in /boot (initramfs-tools or dracut)');
  if (lines.length === 0) return;
  throw new Fault(
    'invalid',
    `The image ${image} is to be written to disks (provmethod sysclone), and lacks ${lines.join(', ')}. Add it to the pkglist.`,
  );
}

const isThere = (tree: string, directory: string, name: string): boolean =>
  lstatSync(inTree(tree, `${directory}/${name}`), { throwIfNoEntry: false })?.isFile() === true;

function bootFiles(tree: string): string[] {
  const directory = inTree(tree, '/boot');
  return lstatSync(directory, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(directory) : [];
}

/** A node that starts from its disk needs its kernel there, whatever a list for nodes in memory leaves out. */
const keepingBoot = ({ out, kept }: Exclusions): Exclusions => ({ out, kept: [...kept, './boot/*'] });

/** Root's password, as a hash; the entry is replaced where it stands. */
async function setRootPassword(tree: string, hash: string, time: number): Promise<void> {
  const days = Math.floor(time / 86_400);
  const entry = `root:${hash}:${days}:0:99999:7:::`;
  const lines = ((await readInTree(tree, '/etc/shadow'))?.toString() ?? '').split('\n').filter((line) => line !== '');
  const place = lines.findIndex((line) => line.startsWith('root:'));
  if (place < 0) lines.unshift(entry);
  else lines[place] = entry;
  await writeInTree(tree, '/etc/shadow', `${lines.join('\n')}\n`, { mode: 0o600, time });
}

/** Lets muster log in to nodes of the image. */
async function authorizeKey(tree: string, key: string, time: number): Promise<void> {
  await makeDirectoryInTree(tree, '/root/.ssh', { mode: 0o700, time });
  const file = '/root/.ssh/authorized_keys';
  const lines = ((await readInTree(tree, file))?.toString() ?? '')
    .split('\n')
    .filter((line) => line !== '' && line !== key);
  await writeInTree(tree, file, `${[...lines, key].join('\n')}\n`, { mode: 0o600, time });
}

/** What each node has to have for itself: whoever can fetch the image would know its keys. */
async function removeIdentity(tree: string, time: number): Promise<void> {
  const directory = inTree(tree, '/etc/ssh');
  const keys = lstatSync(directory, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(directory).filter((name) => /^ssh_host_.*key(\.pub)?$/.test(name))
    : [];
  if (keys.length > 0)
    await keepingTime(directory, () => Promise.all(keys.map((name) => rm(join(directory, name), { recursive: true }))));
  if (await readInTree(tree, '/etc/machine-id')) await writeInTree(tree, '/etc/machine-id', '', { mode: 0o444, time });
  // Debian makes host keys when the package is installed, and never again.
  if (await readInTree(tree, '/lib/systemd/system/ssh.service'))
    await writeInTree(tree, '/etc/systemd/system/ssh.service.d/muster.conf', makesKeys, { mode: 0o644, time });
}

/** On a slow machine that takes longer than a service may take to start. */
const makesKeys = `[Service]
TimeoutStartSec=600
ExecStartPre=
ExecStartPre=/usr/bin/ssh-keygen -A
ExecStartPre=/usr/sbin/sshd -t
`;

/** What the reference system's scripts on nodes look for. */
async function nameImage(tree: string, image: string, when: string, time: number): Promise<void> {
  // Shells read it, and an image may be called almost anything.
  const lines = [`IMAGENAME=${inQuotes(image)}`, `TIMESTAMP='${when}'`];
  await writeInTree(tree, '/opt/xcat/xcatinfo', `${lines.join('\n')}\n`, { mode: 0o644, time });
}

/** Packs an image's tree for nodes. The tree itself stays as it is. */
export const work = (job: PackJob, task: Work): Promise<Pack> =>
  explainingDisk(`The image ${job.image} cannot be packed`, job.directory, () => pack(job, task));

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
      `The image ${image} has no tree in ${directory}; build it first: POST /osimages/${image}/instance {"action":"gen"}.`,
    );
  const unchanged = job.ifChanged ? unchangedPack(job, known) : undefined;
  if (unchanged) {
    task.tell(`Nothing has changed since the pack ${unchanged.id} of ${unchanged.made.when}; it stays in use.`);
    return unchanged;
  }
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
  if (!others.includes('kernel') || !others.some((name) => name.startsWith('initrd-'))) task.tell(withoutKernel(job));
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
  const inputs = packInputs(job, before);
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
    ...(inputs === undefined ? {} : { inputs }),
  };
  task.signal.throwIfAborted();
  await keepPack({ directory, staging, made }, before, done, job.kept);
  await offerRamdisk();
  task.tell(`${file}: ${part.size} bytes, SHA-256 ${part.sha256}.`);
  return done;
}

/** The pack in use, if it would come out the same. */
function unchangedPack(job: PackJob, known: Manifest | undefined): Pack | undefined {
  const inputs = known && packInputs(job, known);
  const current = known?.packs.find(({ id }) => id === known.current);
  return inputs !== undefined && current?.inputs === inputs ? current : undefined;
}

const withoutKernel = ({ image }: ImageJob): string =>
  `Warning: the image ${image} has no kernel or no initial RAM disk, so no node can boot this pack. Add a kernel to the pkglist and build it again, or import the container again with the kernel of another image.`;

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
