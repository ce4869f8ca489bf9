import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PackJob } from '../../src/images/pack/pack-job.ts';
import { work as pack } from '../../src/images/pack/pack.ts';
import { during, packJob, refusal, smallImage } from './small-image.ts';

const names = ({ directory }: PackJob): string[] =>
  execFileSync('unsquashfs', ['-l', '-d', '', join(directory, 'rootimg.sfs')], { encoding: 'utf8' }).split('\n');

/** A tree with a kernel in /boot, which the exclusions leave out, and these programs. */
function bootableImage(...programs: string[]): PackJob {
  const directory = smallImage();
  const tree = join(directory, 'rootimg');
  for (const name of ['boot', 'usr/sbin']) mkdirSync(join(tree, name), { recursive: true });
  for (const path of ['boot/vmlinuz-6.1', 'boot/initrd.img-6.1', ...programs.map((name) => `usr/sbin/${name}`)])
    writeFileSync(join(tree, path), path);
  return { ...packJob(directory), toDisk: true, exclusions: { out: ['./boot/*', './usr/share/doc/*'], kept: [] } };
}
const tools = ['sfdisk', 'mkfs.ext4', 'mkfs.vfat', 'grub-install'];

describe('an image that is written to disks', () => {
  it('keeps its kernel, whatever a list for nodes in memory leaves out', async () => {
    const job = bootableImage(...tools);
    await during((task) => pack(job, task));
    expect(names(job)).toEqual(expect.arrayContaining(['/boot/vmlinuz-6.1', '/boot/initrd.img-6.1']));
    expect(names(job)).not.toContain('/usr/share/doc/x/copyright');
    await during((task) => pack({ ...job, toDisk: false }, task));
    expect(names(job)).not.toContain('/boot/vmlinuz-6.1');
  });

  it('is refused without the programs that nodes need for it, which are named with their packages', async () => {
    const job = bootableImage('sfdisk', 'grub2-install');
    expect(await refusal(during((task) => pack(job, task)))).toBe(
      'The image img is to be written to disks (provmethod sysclone), and lacks mkfs.ext4 (e2fsprogs), mkfs.vfat (dosfstools). Add it to the pkglist.',
    );
  });
});

it('machines without an image get kernel and initial RAM disk of the one that was packed last', async () => {
  const job = packJob(smallImage());
  const offered = (): string[] => ['kernel', 'initrd'].map((name) => readFileSync(join(job.ramdisk, name), 'utf8'));
  await during((task) => pack(job, task));
  expect(offered()).toEqual(['kernel 1', 'initrd 1']);
  writeFileSync(join(job.directory, 'kernel'), 'kernel 2');
  await during((task) => pack(job, task));
  expect(offered()).toEqual(['kernel 2', 'initrd 1']);
});
