import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hashFile } from '../../../src/images/build/fingerprint.ts';
import { work as gen } from '../../../src/images/build/gen.ts';
import { makeInitramfs } from '../../../src/images/build/initramfs.ts';
import { kernelIn } from '../../../src/images/build/kernel.ts';
import { readManifest, writeManifest } from '../../../src/images/manifest.ts';
import { directWork } from '../../harness/work.ts';
import { debianPackages, genJob } from '../gen-job.ts';
import { keptOnce } from '../kept.ts';
import { machineArch } from './machine.ts';

const debianArch = machineArch === 'aarch64' ? 'arm64' : 'amd64';
/** A node that can be logged in to, in memory and on a disk. */
const packages = [
  `linux-image-cloud-${debianArch}`,
  'busybox-static',
  'systemd-sysv',
  'udev',
  'openssh-server',
  'iproute2',
  'fdisk',
  'e2fsprogs',
  'dosfstools',
  'grub2-common',
  `grub-efi-${debianArch}-bin`,
  ...(debianArch === 'amd64' ? ['grub-pc-bin'] : []),
];
/** What a disk with volumes, arrays and file systems of other kinds needs besides. */
export const layoutPackages: readonly string[] = ['lvm2', 'mdadm', 'xfsprogs'];
const postinstall = join(import.meta.dirname, 'quick-start.sh');
/** A RAM disk for machines of the lab: with drivers of all the cards that there are it takes longer to load and to start. */
const recipe = { osarch: machineArch, netdrivers: ['virtio_net', 'virtio_pci'], drivers: [] };

/** Puts an image of Debian for machines of the lab into a directory, as gen leaves it. It is built once, from the mirror, and kept. */
export async function placeBootImage(
  image: string,
  directory: string,
  profile: string,
  more: readonly string[] = [],
): Promise<void> {
  const kept = await builtImage(more);
  mkdirSync(dirname(directory), { recursive: true });
  execFileSync('cp', ['-al', kept, directory]);
  const tree = join(directory, 'rootimg');
  const kernel = kernelIn(tree, '');
  // The scripts in it may be newer than the kept image.
  const initrd = join(directory, 'initrd-stateless.gz');
  rmSync(initrd);
  await makeInitramfs(directWork(), recipe, tree, kernel, initrd);
  const manifest = (await readManifest(directory))!;
  writeManifest(directory, { ...manifest, image, profile });
}

/** The tree of that image, to be read only. */
export const bootTree = async (): Promise<string> => join(await builtImage(), 'rootimg');

/** Puts the kernel of that image and its RAM disk into a directory. */
export async function placeRamdisk(directory: string): Promise<void> {
  await placeKernel(join(await builtImage(), 'rootimg'), recipe, directory);
}

/**
 * Puts a kernel with the drivers of real machines and its RAM disk into a directory: that of the images has none for BMCs.
 * The package is fetched once, and kept.
 */
export async function placeFullRamdisk(directory: string): Promise<void> {
  const tree = await keptOnce(`kernel-${machineArch}`, async (building) => {
    const apt = (...words: string[]): string => execFileSync('apt-get', words, { cwd: building, encoding: 'utf8' });
    const wanted = ['--no-install-recommends', '--reinstall', `linux-image-${debianArch}`];
    const plan = apt('install', '--print-uris', '-qq', ...wanted);
    const name = /\/(linux-image-\d[^_/]*)_/.exec(plan)?.[1];
    if (name === undefined) throw new Error(`apt-get does not say which kernel it would install: ${plan}`);
    apt('download', '-qq', '-o', 'APT::Sandbox::User=root', name);
    const [file = ''] = readdirSync(building);
    execFileSync('dpkg-deb', ['-x', join(building, file), join(building, 'tree')]);
    return join(building, 'tree');
  });
  await placeKernel(tree, { ...recipe, netdrivers: [...recipe.netdrivers, 'e1000'] }, directory);
}

async function placeKernel(tree: string, drivers: typeof recipe, directory: string): Promise<void> {
  const kernel = kernelIn(tree, '');
  mkdirSync(directory, { recursive: true });
  cpSync(kernel.file, join(directory, 'kernel'));
  await makeInitramfs(directWork(), drivers, tree, kernel, join(directory, 'initrd'));
}

async function builtImage(more: readonly string[] = []): Promise<string> {
  const wanted = [...packages, ...more];
  const sha256 = await hashFile(postinstall);
  const key = createHash('sha256')
    .update([...wanted, sha256].join())
    .digest('hex')
    .slice(0, 12);
  return keptOnce(`debian12-${machineArch}-${key}`, async (building) => {
    const task = directWork();
    const image = join(building, 'image');
    const change = { postinstall: [{ path: postinstall, sha256 }], netdrivers: recipe.netdrivers };
    try {
      await gen(genJob(image, 'debian12', debianPackages(...wanted), change), task);
    } finally {
      task.end();
    }
    return image;
  });
}
