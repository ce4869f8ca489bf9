import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { scratchDirectory } from '../../harness/store.ts';
import { burn } from '../../lab/media/burn.ts';
import {
  anacondaTree,
  debianTree,
  leapTree,
  slesTree,
  suseTree,
  type Tree,
  ubuntuTree,
} from '../../lab/media/trees.ts';
import { copyMedium, treeOf } from './copying.ts';

const directory = scratchDirectory();
afterAll(() => rmSync(directory, { recursive: true }));
const installdir = join(directory, 'install');
mkdirSync(installdir);

const media: readonly (readonly [name: string, arch: string, tree: Tree])[] = [
  ['debian12.12', 'x86_64', debianTree()],
  ['debian12.12', 'aarch64', debianTree('aarch64')],
  ['debian13', 'x86_64', debianTree('x86_64', 'NETINST', '13')],
  ['ubuntu24.04.3', 'x86_64', ubuntuTree()],
  ['ubuntu24.04.3', 'aarch64', ubuntuTree('aarch64')],
  ['rhels9.6', 'x86_64', anacondaTree('Red Hat Enterprise Linux', '9.6')],
  ['rocky9.6', 'x86_64', anacondaTree('Rocky Linux', '9.6')],
  ['rocky9.6', 'aarch64', anacondaTree('Rocky Linux', '9.6', 'aarch64')],
  // The description of some is nothing but a version.
  ['alma9.6', 'x86_64', anacondaTree('AlmaLinux', '9.6', 'x86_64', '9.6')],
  ['centos-stream9', 'x86_64', anacondaTree('CentOS Stream', '9')],
  ['ol9.6', 'x86_64', anacondaTree('Oracle Linux', '9.6.0')],
  ['fedora42', 'x86_64', anacondaTree('Fedora', '42')],
  ['sles15.6', 'x86_64', slesTree()],
  ['sles15.6', 'aarch64', slesTree('aarch64')],
  ['leap15.6', 'x86_64', leapTree()],
];

test.each(media)('a medium of %s for %s is recognised and copied', async (os, arch, tree) => {
  const iso = burn(directory, `${os}-${arch}`, tree);
  const { made, lines } = await copyMedium(iso, installdir);
  expect(made).toMatchObject({ os, release: { arch, disc: 1 }, directories: [join(installdir, os, arch)] });
  expect(made.images.map(({ name }) => name)).toEqual(
    ['install', 'netboot', 'statelite'].map((method) => `${os}-${arch}-${method}-compute`),
  );
  const copied = treeOf(join(installdir, os, arch));
  for (const [path, entry] of Object.entries(tree)) {
    const wanted =
      typeof entry === 'object' && 'link' in entry ? `-> ${entry.link}` : `644 ${(entry as Buffer).toString()}`;
    expect(copied[path], path).toBe(wanted);
  }
  expect(lines.join('\n')).toMatch(/\d+ of its \d+ files match/);
});

test.each([
  [
    'rhels6.10',
    anacondaTree('Red Hat Enterprise Linux', '6.10'),
    /rhels6\.10 cannot be installed: .*release 7 and later/,
  ],
  ['sles16.0', suseTree('SUSE - SLES-16.0-Full-x86_64-GM', 'SLES16 16.0-0'), /sles16\.0 cannot be installed: .*Agama/],
])('a medium of %s makes no image that its installer would be answered for', async (os, tree, problem) => {
  const { made, lines } = await copyMedium(burn(directory, os, tree), installdir);
  expect(made.os).toBe(os);
  expect(made.images.map(({ name }) => name)).toEqual(
    ['netboot', 'statelite'].map((method) => `${os}-x86_64-${method}-compute`),
  );
  expect(lines.at(-1)).toMatch(problem);
});

test('the release of a medium without .treeinfo is in its .discinfo', async () => {
  const { '.treeinfo': _, ...tree } = anacondaTree('Rocky Linux', '8.10');
  const { made } = await copyMedium(burn(directory, 'discinfo', tree), installdir, { inspects: true });
  expect(made).toMatchObject({ os: 'rocky8.10', release: { arch: 'x86_64' } });
});

test('the release of SUSE is in its product where the name of the medium does not tell it', async () => {
  const tree = suseTree('SUSE - Online-x86_64-GM', 'SLES15-SP7 15.7-0');
  const { made } = await copyMedium(burn(directory, 'product', tree), installdir, { inspects: true });
  expect(made.os).toBe('sles15.7');
});

test('Joliet names serve where there is no Rock Ridge', async () => {
  const iso = burn(directory, 'joliet', anacondaTree('Rocky Linux', '9.7'), { names: 'joliet' });
  await copyMedium(iso, installdir);
  expect(treeOf(join(installdir, 'rocky9.7/x86_64'))).toMatchObject({
    'images/pxeboot/vmlinuz': '644 kernel',
    'BaseOS/Packages/b/bash.rpm': '644 a package',
  });
});

test('a medium that is not known is refused, and what was looked for is told', async () => {
  const iso = burn(directory, 'unknown', { 'readme.txt': 'some files' });
  const error = await copyMedium(iso, installdir).catch(String);
  for (const part of ['not a known install medium', '/.disk/info', '/.treeinfo', '/media.N/media', 'give -n and -a'])
    expect(error).toContain(part);
});

test('short names alone do not tell what a medium is', async () => {
  const iso = burn(directory, 'short', anacondaTree('Rocky Linux', '9.6'), { names: 'plain' });
  await expect(copyMedium(iso, installdir)).rejects.toThrow('neither Rock Ridge nor Joliet names');
});

test('-n and -a say what an unknown medium is', async () => {
  const iso = burn(directory, 'said', { 'readme.txt': 'some files' });
  await expect(copyMedium(iso, installdir, { name: 'rocky8.8' })).rejects.toThrow('give -a');
  const { made } = await copyMedium(iso, installdir, { name: 'rocky8.8', arch: 'x86_64' });
  expect(made).toMatchObject({ os: 'rocky8.8', release: { family: 'redhat', arch: 'x86_64' } });
});

test('an architecture that is not that of the medium is refused', async () => {
  const iso = burn(directory, 'arch', ubuntuTree());
  await expect(copyMedium(iso, installdir, { arch: 'aarch64' })).rejects.toThrow('is for x86_64, not for aarch64');
});

test('a medium with files of two distributions is refused unless -n says which it is', async () => {
  const iso = burn(directory, 'two', { ...anacondaTree('Rocky Linux', '9.6'), ...slesTree() });
  await expect(copyMedium(iso, installdir)).rejects.toThrow('says that it is rocky9.6 and that it is sles15.6');
  const { made } = await copyMedium(iso, installdir, { name: 'sles15.6', inspects: true });
  expect(made.release.family).toBe('suse');
});

test('-i tells what a medium is and copies nothing', async () => {
  const empty = join(directory, 'empty');
  mkdirSync(empty);
  const { made, lines } = await copyMedium(burn(directory, 'inspect', debianTree()), empty, { inspects: true });
  expect(made).toMatchObject({ inspected: true, images: [] });
  expect(lines).toEqual(expect.arrayContaining(['DISTNAME:debian12.12', 'ARCH:x86_64', 'DISCNO:1']));
  expect(treeOf(empty)).toEqual({});
});

test('-o makes no images', async () => {
  const { made } = await copyMedium(burn(directory, 'noimages', leapTree()), installdir, { makesImages: false });
  expect(made).toMatchObject({ images: [], directories: [join(installdir, 'leap15.6/x86_64')] });
});
