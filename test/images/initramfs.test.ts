import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { hostArchitecture } from '../../src/objects/distributions.ts';
import { makeInitramfs } from '../../src/images/build/initramfs.ts';
import { kernelIn } from '../../src/images/build/kernel.ts';
import { during, refusal, temporary } from './small-image.ts';

const drivers = { osarch: hostArchitecture(), netdrivers: [], drivers: [] };

/** The modules directory of a tree that has a kernel without modules, and where its RAM disk is made. */
function treeWithKernel(lib = 'lib') {
  const staging = temporary();
  const tree = join(staging, 'image/rootimg');
  const modules = join(tree, lib, 'modules/6.1');
  for (const each of [modules, join(tree, 'boot'), join(tree, 'bin')]) mkdirSync(each, { recursive: true });
  writeFileSync(join(tree, 'boot/vmlinuz-6.1'), 'kernel');
  copyFileSync('/bin/busybox', join(tree, 'bin/busybox'));
  return { tree, modules, file: join(staging, 'image/initrd') };
}

const make = ({ tree, file }: { tree: string; file: string }): Promise<void> =>
  during((task) => makeInitramfs(task, drivers, tree, kernelIn(tree, ''), file));

function unpacked(file: string): string {
  const into = temporary();
  execFileSync('cpio', ['-id', '--quiet', '--no-absolute-filenames'], {
    cwd: into,
    input: gunzipSync(readFileSync(file)),
  });
  return into;
}

it('depmod follows no link of the image out of it, and its indexes become part of the image', async () => {
  const outside = temporary();
  mkdirSync(join(outside, 'modules/6.1'), { recursive: true });
  const made = treeWithKernel(outside);
  symlinkSync(outside, join(made.tree, 'lib'));
  await make(made);
  expect(readdirSync(join(outside, 'modules/6.1'))).toEqual([]);
  expect(existsSync(join(made.modules, 'modules.dep'))).toBe(true);
});

it('nothing of this machine is read through links among the modules', async () => {
  const made = treeWithKernel();
  const secret = join(temporary(), 'secret');
  writeFileSync(secret, 'alias secret squashfs\n');
  writeFileSync(join(made.modules, 'modules.dep'), 'kernel/squashfs.ko:\n');
  mkdirSync(join(made.modules, 'kernel'));
  writeFileSync(join(made.modules, 'kernel/squashfs.ko'), 'driver');
  symlinkSync(secret, join(made.modules, 'modules.alias'));
  await make(made);
  const inside = join(unpacked(made.file), 'lib/modules/6.1');
  expect(readFileSync(join(inside, 'kernel/squashfs.ko'), 'utf8')).toBe('driver');
  expect(readFileSync(join(inside, 'modules.alias'), 'utf8')).toBe('');
});

it.each(['gz', 'zst', 'xz', 'none'] as const)(
  'a small module that becomes a large one is refused: %s',
  async (kind) => {
    const size = 257 << 20;
    const made = treeWithKernel();
    const module = `squashfs.ko${kind === 'none' ? '' : `.${kind}`}`;
    writeFileSync(join(made.modules, 'modules.dep'), `${module}:\n`);
    const path = join(made.modules, module);
    if (kind === 'gz') writeFileSync(path, gzipSync(Buffer.alloc(size), { level: 1 }));
    else if (kind === 'zst') writeFileSync(path, zstdCompressSync(Buffer.alloc(size)));
    else if (kind === 'xz') writeFileSync(path, execFileSync('xz', ['-0c'], { input: Buffer.alloc(size) }));
    else {
      writeFileSync(path, '');
      truncateSync(path, size);
    }
    expect(await refusal(make(made))).toBe(
      `${module} in the image has more than 268435456 bytes, more than such a file may have.`,
    );
  },
);

it('a module that is named and not there is told by its name', async () => {
  const made = treeWithKernel();
  writeFileSync(join(made.modules, 'modules.dep'), 'kernel/fs/squashfs.ko:\n');
  mkdirSync(join(made.modules, 'kernel/fs'), { recursive: true });
  execFileSync('mkfifo', [join(made.modules, 'kernel/fs/squashfs.ko')]);
  expect(await refusal(make(made))).toContain('names kernel/fs/squashfs.ko, which is not there');
});
