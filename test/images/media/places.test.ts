import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { scratchDirectory } from '../../harness/store.ts';
import { burn } from '../../lab/media/burn.ts';
import { Tampered } from '../../lab/media/tamper.ts';
import { anacondaTree, debianTree, slesTree, ubuntuTree } from '../../lab/media/trees.ts';
import { copyMedium, treeOf } from './copying.ts';

const directory = scratchDirectory();
afterAll(() => rmSync(directory, { recursive: true }));
const installdir = join(directory, 'install');
const tree = join(installdir, 'debian12.12/x86_64');

beforeEach(() => {
  rmSync(installdir, { recursive: true, force: true });
  mkdirSync(installdir);
});

const first = burn(directory, 'debian-1', debianTree('x86_64', 'DVD Binary-1'));
const second = burn(directory, 'debian-2', debianTree('x86_64', 'DVD Binary-2'));

test('the same medium again changes nothing', async () => {
  await copyMedium(first, installdir);
  const before = [treeOf(tree), statSync(tree).ino];
  const { lines, made } = await copyMedium(first, installdir);
  expect(lines).toContain(`All of it is in ${tree} already.`);
  expect([treeOf(tree), statSync(tree).ino]).toEqual(before);
  expect(made.images).toHaveLength(3);
});

test('a tree that lost something is made whole again', async () => {
  await copyMedium(first, installdir);
  const whole = treeOf(tree);
  rmSync(join(tree, '.disk/base_components'));
  truncateSync(join(tree, 'install.amd/vmlinuz'), 2);
  await copyMedium(first, installdir);
  const { '.muster-medium.json': _, ...files } = whole;
  expect(treeOf(tree)).toMatchObject(files);
});

test.each([
  ['first and second', [first, second]],
  ['second and first', [second, first]],
])('several discs of a release, %s, each with its own index', async (_, discs) => {
  for (const iso of discs) await copyMedium(iso, installdir);
  const { made } = await copyMedium(second, installdir);
  expect(made.directories).toEqual([tree, join(tree, '2')]);
  expect(made.images[0]!.attributes['pkgdir']).toBe(`${tree},${tree}/2`);
  expect(treeOf(tree)).toMatchObject({
    'pool/main/b/bc/bc_DVDBinary1_amd64.deb': '644 a package of DVD Binary-1',
    '2/pool/main/b/bc/bc_DVDBinary2_amd64.deb': '644 a package of DVD Binary-2',
    '2/dists/bookworm/main/binary-amd64/Packages': expect.stringContaining('bc_DVDBinary2'),
    'dists/bookworm/main/binary-amd64/Packages': expect.stringContaining('bc_DVDBinary1'),
  });
});

test('a further disc of SUSE has its number', async () => {
  await copyMedium(burn(directory, 'sles-1', slesTree()), installdir);
  const { made } = await copyMedium(burn(directory, 'sles-2', slesTree('x86_64', 2)), installdir);
  const place = join(installdir, 'sles15.6/x86_64');
  expect(made.directories).toEqual([place, join(place, '2')]);
});

test('another medium of the same release is put over what is there, and both are remembered', async () => {
  const minimal = burn(directory, 'minimal', anacondaTree('Rocky Linux', '9.6'));
  const { 'BaseOS/Packages/b/bash.rpm': _, ...rest } = anacondaTree('Rocky Linux', '9.6');
  const full = burn(directory, 'full', {
    ...rest,
    'BaseOS/repodata/repomd.xml': '<repomd>full</repomd>',
    'AppStream/Packages/v/vim.rpm': 'another package',
    // What was a directory becomes a file.
    'BaseOS/Packages/b': 'a file',
  });
  const rocky = join(installdir, 'rocky9.6/x86_64');
  await copyMedium(minimal, installdir);
  writeFileSync(join(rocky, 'added by hand'), 'x');
  const elsewhere = join(directory, 'elsewhere');
  mkdirSync(elsewhere);
  rmSync(join(rocky, 'AppStream'), { recursive: true });
  symlinkSync(elsewhere, join(rocky, 'AppStream'));
  await copyMedium(full, installdir);
  expect(treeOf(rocky)).toMatchObject({
    'added by hand': '644 x',
    'BaseOS/repodata/repomd.xml': '644 <repomd>full</repomd>',
    'AppStream/Packages/v/vim.rpm': '644 another package',
    'BaseOS/Packages/b': '644 a file',
  });
  expect(treeOf(elsewhere)).toEqual({});
  const marker = JSON.parse(readFileSync(join(rocky, '.muster-medium.json'), 'utf8')) as { media: object };
  expect(Object.keys(marker.media)).toHaveLength(2);
});

test('a medium that another was put over is copied again, also where nothing but content differs', async () => {
  const [one, two] = ['one', 'two'].map((word) => burn(directory, word, { ...ubuntuTree(), index: word }));
  for (const [iso, word] of [
    [one, 'one'],
    [two, 'two'],
    [one, 'one'],
  ] as const) {
    await copyMedium(iso!, installdir);
    expect(treeOf(join(installdir, 'ubuntu24.04.3/x86_64'))).toHaveProperty('index', `644 ${word}`);
  }
});

test('a disc that came while the tree was copied is not lost', async () => {
  await copyMedium(first, installdir);
  rmSync(join(tree, '.disk/info'));
  const again = copyMedium(first, installdir, {}, (task) => ({
    ...task,
    async staging(beside) {
      await copyMedium(second, installdir);
      return task.staging(beside);
    },
  }));
  await expect(again).rejects.toThrow('was changed by another copy meanwhile');
  expect(treeOf(tree)).toHaveProperty('2/.disk/info');
});

test('-w leaves a tree that exists as it is', async () => {
  await copyMedium(burn(directory, 'minimal', ubuntuTree()), installdir);
  const before = treeOf(installdir);
  const other = burn(directory, 'other', { ...ubuntuTree(), more: 'x' });
  await expect(copyMedium(other, installdir, { overwrites: false })).rejects.toThrow('-w forbids');
  expect(treeOf(installdir)).toEqual(before);
});

test('-p puts the tree elsewhere', async () => {
  const path = join(installdir, 'media/mine');
  const { made } = await copyMedium(first, installdir, { path });
  expect(made.directories).toEqual([path]);
  expect(treeOf(path)).toHaveProperty('install.amd/vmlinuz', '644 kernel');
});

test('no file of a medium gets the rights of its owner, and nobody else may write', async () => {
  const iso = burn(
    directory,
    'rights',
    { ...debianTree(), 'tool/run': 'x', 'tool/notes': 'y' },
    {
      names: 'own-modes',
      before(root) {
        for (const [name, mode] of [
          ['tool', 0o2777],
          ['tool/run', 0o6777],
          ['tool/notes', 0o4666],
        ] as const)
          chmodSync(join(root, name), mode);
      },
    },
  );
  await copyMedium(iso, installdir);
  expect(treeOf(tree)).toMatchObject({ 'tool/': '755', 'tool/run': '755 x', 'tool/notes': '644 y' });
});

test('a directory that is not of copycds is left alone', async () => {
  mkdirSync(tree, { recursive: true });
  writeFileSync(join(tree, 'precious'), 'x');
  await expect(copyMedium(first, installdir)).rejects.toThrow('was not made by copycds');
  expect(treeOf(tree)).toEqual({ precious: '644 x' });
});

test('a place that became a link is not followed', async () => {
  mkdirSync(join(installdir, 'debian12.12'));
  symlinkSync('/tmp', tree);
  await expect(copyMedium(first, installdir)).rejects.toThrow('leads elsewhere');
});

test('an interrupted copy leaves nothing, and the next one works', async () => {
  const big = burn(directory, 'big', { ...debianTree(), 'big.img': Buffer.alloc(40_000_000, 1) });
  const copy = copyMedium(big, installdir, {}, (task, cancel) => ({ ...task, progress: cancel }));
  await expect(copy).rejects.toThrow('abort');
  expect(treeOf(installdir)).toEqual({});
  await copyMedium(big, installdir);
  expect(statSync(join(tree, 'big.img')).size).toBe(40_000_000);
});

test('a tree that takes its place is on the disk', async () => {
  await copyMedium(burn(directory, 'synced', { ...debianTree(), 'big.img': Buffer.alloc(4_000_000, 1) }), installdir);
  const { stdout } = spawnSync('filefrag', ['-v', join(tree, 'big.img')], { encoding: 'utf8' });
  // What is in memory only has no place on the disk yet.
  expect(stdout).not.toContain('delalloc');
});

test('a disk that is full before or in the middle leaves nothing', async () => {
  const full = burn(directory, 'large', { ...debianTree(), 'big.img': Buffer.alloc(4_000_000, 1) });
  for (const [options, reason] of [
    ['size=2m', 'MB are free: free some space'],
    ['size=16m,nr_inodes=24', 'there is no space left'],
  ] as const) {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', installdir]);
    try {
      await expect(copyMedium(full, installdir)).rejects.toThrow(reason);
      expect(treeOf(installdir)).toEqual({});
    } finally {
      execFileSync('umount', [installdir]);
    }
  }
});

test('the MD5 sum of a whole medium is verified where its makers put one into it', async () => {
  const iso = burn(directory, 'implanted', anacondaTree('Fedora', '42'), { implants: true });
  const { lines } = await copyMedium(iso, installdir);
  expect(lines.join('\n')).toContain('The medium as a whole matches the MD5 sum in it.');
  new Tampered(iso).replace('a package', 'a tampage').save();
  await expect(copyMedium(iso, installdir, { path: join(installdir, 'other') })).rejects.toThrow(
    'its MD5 sum does not match',
  );
  expect(treeOf(join(installdir, 'other'))).toEqual({});
});

test('what could not be verified is told', async () => {
  const { '.treeinfo': _, ...bare } = anacondaTree('Rocky Linux', '9.6');
  const none = await copyMedium(burn(directory, 'bare', bare), installdir);
  expect(none.lines.join('\n')).toMatch(/None of its \d files could be verified/);
  const some = await copyMedium(burn(directory, 'some', anacondaTree('AlmaLinux', '9.6')), installdir);
  expect(some.lines.join('\n')).toContain('3 of its 8 files match /.treeinfo of the medium.');
  expect(some.lines.join('\n')).toContain('5 files could not be verified');
  expect(some.lines.join('\n')).toContain('checksums of 1 files that are not on it');
});
