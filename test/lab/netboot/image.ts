import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { work as gen } from '../../../src/services/images/build/gen.ts';
import { makeInitramfs } from '../../../src/services/images/build/initramfs.ts';
import { kernelIn } from '../../../src/services/images/build/kernel.ts';
import { readManifest, writeManifest } from '../../../src/services/images/manifest.ts';
import { directWork } from '../../harness/work.ts';
import { debianPackages, genJob } from '../gen-job.ts';
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
const cache = join(import.meta.dirname, '../../../node_modules/.cache/muster-lab');

/** Puts an image of Debian for machines of the lab into a directory, as gen leaves it. It is built once, from the mirror, and kept. */
export async function placeBootImage(image: string, directory: string, profile: string): Promise<void> {
  const kept = await builtImage();
  mkdirSync(dirname(directory), { recursive: true });
  execFileSync('cp', ['-al', kept, directory]);
  const tree = join(directory, 'rootimg');
  const kernel = kernelIn(tree, '');
  // The scripts in it may be newer than the kept image.
  const initrd = join(directory, 'initrd-stateless.gz');
  rmSync(initrd);
  await makeInitramfs(directWork(), { osarch: machineArch, netdrivers: [], drivers: [] }, tree, kernel, initrd);
  const manifest = (await readManifest(directory))!;
  writeManifest(directory, { ...manifest, image, profile });
}

/**
 * Puts a kernel with the drivers of real machines and its RAM disk into a directory: that of the images has none for service processors.
 * The package is fetched once, and kept.
 */
export async function placeRamdisk(directory: string): Promise<void> {
  const kept = join(cache, `kernel-${machineArch}`);
  if (!existsSync(kept)) {
    mkdirSync(cache, { recursive: true });
    const building = mkdtempSync(join(cache, 'building-'));
    const apt = (...words: string[]): string => execFileSync('apt-get', words, { cwd: building, encoding: 'utf8' });
    const plan = apt(
      'install',
      '--print-uris',
      '-qq',
      '--no-install-recommends',
      '--reinstall',
      `linux-image-${debianArch}`,
    );
    const name = /\/(linux-image-\d[^_/]*)_/.exec(plan)?.[1];
    if (name === undefined) throw new Error(`apt-get does not say which kernel it would install: ${plan}`);
    apt('download', '-qq', '-o', 'APT::Sandbox::User=root', name);
    const [file = ''] = readdirSync(building);
    execFileSync('dpkg-deb', ['-x', join(building, file), join(building, 'tree')]);
    renameSync(join(building, 'tree'), kept);
    rmSync(building, { recursive: true });
  }
  const kernel = kernelIn(kept, '');
  mkdirSync(directory, { recursive: true });
  cpSync(kernel.file, join(directory, 'kernel'));
  const drivers = { osarch: machineArch, netdrivers: ['virtio_net', 'virtio_pci', 'e1000'], drivers: [] };
  await makeInitramfs(directWork(), drivers, kept, kernel, join(directory, 'initrd'));
}

async function builtImage(): Promise<string> {
  const key = createHash('sha256').update(packages.join()).digest('hex').slice(0, 12);
  const kept = join(cache, `debian12-${machineArch}-${key}`);
  if (existsSync(kept)) return kept;
  mkdirSync(cache, { recursive: true });
  const building = join(cache, `building-${process.pid}`);
  const task = directWork();
  try {
    await gen(genJob(join(building, 'image'), 'debian12', debianPackages(...packages)), task);
    await rename(join(building, 'image'), kept).catch((error: NodeJS.ErrnoException) => {
      // Another process was quicker.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    task.end();
    rmSync(building, { recursive: true, force: true });
  }
  return kept;
}
