import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import { openArchive } from '../../../src/protocols/oci/archive.ts';
import { applyLayer } from '../../../src/images/containers/apply-layer.ts';
import { TreeWriter } from '../../../src/images/containers/tree-writer.ts';
import { labImages, writeLabImage } from '../../lab/oci/images.ts';
import { hostArchitecture, writeLayout } from '../../lab/oci/layout.ts';
import { file, type TestEntry } from '../../lab/oci/tar.ts';

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'muster-layers-'));
});
afterAll(() => rmSync(scratch, { recursive: true }));

const limits = { bytes: 100 << 20, entries: 10_000 };
const { signal } = new AbortController();

/** Applies the image of a layout; the tree has a directory of its own above it, so that whatever leaves it is seen. */
async function apply(layout: string, name: string, within = limits): Promise<string> {
  const tree = join(scratch, `trees-${name}`, 'tree');
  mkdirSync(tree, { recursive: true });
  const archive = await openArchive(layout, name, signal);
  const image = await archive.image(undefined, { architecture: hostArchitecture }, signal);
  const writer = new TreeWriter(tree, within);
  for (const layer of image.layers) await applyLayer(layer, writer, { signal, passed: () => {} });
  writer.finish();
  return tree;
}

function applied(name: string): Promise<string> {
  const image = labImages.find((each) => each.name === name)!;
  return apply(writeLabImage(scratch, image), name);
}

const text = (path: string): string => readFileSync(path, 'utf8');

describe('layers of an image', () => {
  it('become a tree with modes, owners and times', async () => {
    const tree = await applied('good');
    expect(readdirSync(tree)).toEqual(['bin', 'dir', 'etc']);
    expect(text(join(tree, 'bin/hello'))).toBe('#!/bin/sh\necho hello\n');
    expect(statSync(join(tree, 'bin/hello')).mode & 0o7777).toBe(0o755);
    expect(statSync(join(tree, 'etc')).mtimeMs).toBe(1_700_000_000_000);
    expect(statSync(join(tree, 'etc/keep'))).toMatchObject({ uid: 0, gid: 0, mtimeMs: 1_700_000_000_000 });
  });

  it('hide what lower layers have, wherever in the layer the whiteout stands', async () => {
    const whiteout = await applied('whiteout');
    expect(readdirSync(join(whiteout, 'etc'))).toEqual(['keep']);
    expect(readdirSync(join(whiteout, 'dir'))).toEqual(['c']);
    expect(readdirSync(join(await applied('whiteout-order'), 'dir'))).toEqual(['c']);
    expect(readdirSync(join(await applied('whiteout-own'), 'dir'))).toEqual(['c']);
    expect(text(join(await applied('whiteout-same-name'), 'etc/gone'))).toBe('new\n');
    const nested = await applied('whiteout-nested');
    expect(readdirSync(join(nested, 'dir'))).toEqual(['sub']);
    expect(readdirSync(join(nested, 'dir/sub'))).toEqual(['high']);
    expect(readdirSync(await applied('whiteout-of-nothing'))).toEqual(['bin', 'dir', 'etc']);
  });

  it('replace files by directories, directories by files and links by directories', async () => {
    const tree = await applied('replace');
    expect(text(join(tree, 'etc/keep/in'))).toBe('x\n');
    expect(text(join(tree, 'dir'))).toBe('now a file\n');
    const other = await applied('replace-link');
    expect(lstatSync(join(other, 'out')).isDirectory()).toBe(true);
    expect(readdirSync(join(other, 'out'))).toEqual(['in']);
    const changed = await applied('sym-chmod');
    expect(lstatSync(join(changed, 'out')).isDirectory()).toBe(true);
  });

  it('have hard links, also to files of lower layers', async () => {
    const tree = await applied('hardlink');
    expect(statSync(join(tree, 'bin/h1')).ino).toBe(statSync(join(tree, 'bin/hello')).ino);
    expect(statSync(join(tree, 'bin/h1')).mode & 0o7777).toBe(0o4755);
    const lower = await applied('hardlink-lower');
    expect(statSync(join(lower, 'bin/h2')).ino).toBe(statSync(join(lower, 'bin/hello')).ino);
    const changed = await applied('hardlink-then-new');
    expect(text(join(changed, 'bin/h2'))).toBe('#!/bin/sh\necho hello\n');
    expect(text(join(changed, 'bin/hello'))).toBe('other\n');
  });

  it('have extended attributes; capabilities outlive the change of owner', async () => {
    const tree = await applied('xattr');
    const dump = execFileSync('getfattr', ['-d', '-m', '-', '-e', 'hex', 'bin/ping'], { cwd: tree, encoding: 'utf8' });
    expect(dump).toContain('user.t=0x76');
    expect(dump).toContain('security.capability=0x0100000200200000000000000000000000000000');
    expect(statSync(join(tree, 'bin/ping')).uid).toBe(7);
  });

  it('have names of any length and any bytes', async () => {
    const tree = await applied('longname');
    expect(text(join(tree, 'd'.repeat(99), 'e'.repeat(99), 'f'.repeat(99)))).toBe('1');
    expect(text(join(tree, 'etc/žlutý'))).toBe('1');
    expect(text(join(tree, 'gnu', 'g'.repeat(150)))).toBe('2');
    const other = await applied('bytes-in-name');
    expect(readdirSync(other, { encoding: 'buffer' })).toEqual([Buffer.from([0x61, 0xff, 0xfe])]);
  });

  it('need not tell of directories, and may tell of the root', async () => {
    const tree = await applied('nodir');
    expect(statSync(join(tree, 'a/b')).mode & 0o7777).toBe(0o755);
    expect(statSync(await applied('dotslash')).mode & 0o7777).toBe(0o711);
  });

  it('count absolute names from the root of the image', async () => {
    expect(text(join(await applied('trav-abs'), 'tmp/escape-abs'))).toBe('x\n');
  });

  it('have devices and pipes', async () => {
    const tree = await applied('dev-nodes');
    const shown = execFileSync('stat', ['-c', '%F %t %T %a %g', 'dev/sda', 'dev/null', 'pipe'], {
      cwd: tree,
      encoding: 'utf8',
    });
    expect(shown).toBe('block special file 8 12c 660 6\ncharacter special file 1 3 666 0\nfifo 0 0 644 0\n');
  });

  it('have owners of 32 bits, and set-user-ID bits survive them', async () => {
    const status = statSync(join(await applied('setuid-owner'), 'x'));
    expect([status.uid, status.gid, status.mode & 0o7777]).toEqual([4_000_000_000, 4_000_000_000, 0o6755]);
  });

  it('fill directories that nobody may write to, whose times stay', async () => {
    const locked = join(await applied('read-only-directory'), 'locked');
    expect(readdirSync(locked)).toEqual(['in']);
    expect(statSync(locked)).toMatchObject({ mtimeMs: 1_000_000_000_000, mode: 0o40555 });
  });

  it('keep holes as holes', async () => {
    const big = join(await applied('sparse'), 'big');
    expect(statSync(big).size).toBe(1 << 20);
    expect(statSync(big).blocks).toBeLessThan(64);
    expect(readFileSync(big).subarray(-1).toString()).toBe('z');
  });

  it('have times before 1970 and between seconds', async () => {
    const tree = await applied('times');
    expect(statSync(join(tree, 'old')).mtimeMs).toBe(0);
    expect(statSync(join(tree, 'fraction')).mtimeMs).toBe(1_234_567_890_500);
  });

  it.each(['zstd', 'uncompressed', 'gzip-members', 'foreign-url'])('are read: %s', async (name) => {
    expect(text(join(await applied(name), 'bin/hello'))).toBe('#!/bin/sh\necho hello\n');
  });

  it('have as many entries and bytes as allowed', async () => {
    const many: TestEntry[] = Array.from({ length: 20 }, (_, i) => file(`f${i}`));
    const layout = join(scratch, 'many');
    writeLayout(layout, [many]);
    await apply(layout, 'many-fit', { bytes: 40, entries: 20 });
    await expect(apply(layout, 'many-entries', { bytes: 40, entries: 19 })).rejects.toThrow('more than 19 entries');
    await expect(apply(layout, 'many-bytes', { bytes: 39, entries: 20 })).rejects.toThrow('more than 39 bytes');
  });

  it('are refused if all of them together become far more than an image may have', () => {
    const empty = join(scratch, 'bomb');
    mkdirSync(empty);
    const tree = new TreeWriter(empty, { bytes: 40, entries: 20 });
    const most = 40 + 4 * 2 ** 30;
    for (let layer = 0; layer < 4; layer++) tree.countRead(most / 4);
    expect(() => tree.countRead(1)).toThrow('with the layers below it, it has more than 40 bytes');
  });

  it('are refused where the disk is full', async () => {
    const layout = join(scratch, 'full');
    writeLayout(layout, [[file('big', Buffer.alloc(8 << 20, 'x'))]]);
    const small = join(scratch, 'trees-full');
    mkdirSync(small);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', small]);
    try {
      await expect(apply(layout, 'full')).rejects.toThrow('There is no space left for the image, at Layer 1 of full');
    } finally {
      execFileSync('umount', [small]);
    }
  });

  it.each(labImages.filter(({ expected }) => expected === 'refused'))(
    'are refused, with nothing outside the tree: $name',
    async (image) => {
      const layout = writeLabImage(scratch, image);
      await expect(apply(layout, image.name)).rejects.toBeInstanceOf(Fault);
      const around = join(scratch, `trees-${image.name}`);
      expect(readdirSync(around)).toEqual(['tree']);
      for (const path of ['/tmp/escape', '/tmp/escdir', '/tmp/escape-abs']) expect(existsSync(path)).toBe(false);
      const link = join(around, 'tree/out');
      if (lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink())
        expect(readlinkSync(link)).toMatch(/^(\/|\.\.)/);
    },
  );

  it('are applied to the end when every image that is good was tried', () => {
    const good = labImages.filter(({ expected }) => expected === 'applied').map(({ name }) => name);
    expect(good.filter((name) => !existsSync(join(scratch, `trees-${name}`)))).toEqual([]);
  });
});
