import { lstatSync, readdirSync } from 'node:fs';
import { Fault } from '../../../core/errors.ts';
import { inTree } from '../tree/tree-path.ts';
import type { Exclusions } from './exclusions.ts';

/** Programs by which the initial RAM disk writes an image to a disk, and the packages of Debian and of RPM distributions that have them. */
const tools: readonly (readonly [names: readonly string[], packages: string])[] = [
  [['sfdisk'], 'fdisk or util-linux'],
  [['mkfs.ext4'], 'e2fsprogs'],
  [['mkfs.vfat'], 'dosfstools'],
  [['grub-install', 'grub2-install'], 'grub2-common with grub-pc-bin and grub-efi-amd64-bin, or grub2-tools'],
];
const directories = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Refuses a tree that would fail on every node that it is written to. */
export function checkDiskTools(image: string, tree: string): void {
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
export const keepingBoot = ({ out, kept }: Exclusions): Exclusions => ({ out, kept: [...kept, './boot/*'] });
