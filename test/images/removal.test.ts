import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ImagePaths } from '../../src/images/paths.ts';
import { work as pack } from '../../src/images/pack/pack.ts';
import { work as remove } from '../../src/images/removal.ts';
import { Sources } from '../../src/access/file-sources.ts';
import { faultOf } from '../harness/fault-of.ts';
import { snapshotOf } from '../harness/snapshot.ts';
import { during, listing, packJob, refusal, smallImage, temporary } from './small-image.ts';

const removing = (directory: string, image = 'img') =>
  during((task) => remove({ ...packJob(directory), image, directory }, task));

describe('removing an image', () => {
  it('takes away what gen and pack made, and the directory if nothing else is in it', async () => {
    const directory = smallImage();
    await during((task) => pack(packJob(directory), task));
    await removing(directory);
    expect(existsSync(directory)).toBe(false);
    expect(readdirSync(join(directory, '..'))).toEqual([]);
  });

  it('leaves what muster did not make', async () => {
    const directory = smallImage();
    await during((task) => pack(packJob(directory), task));
    writeFileSync(join(directory, 'notes.txt'), 'mine');
    expect(await removing(directory)).toMatchObject({ left: ['notes.txt'] });
    expect(readdirSync(directory)).toEqual(['notes.txt']);
  });

  it('leaves a tree that was there before muster, with its kernel', async () => {
    const directory = smallImage();
    rmSync(join(directory, 'muster-image.json'));
    await during((task) => pack(packJob(directory), task));
    await removing(directory);
    expect(readdirSync(directory).sort()).toEqual(['.private', 'initrd-stateless.gz', 'kernel', 'rootimg']);
    expect(existsSync(join(directory, 'rootimg/bin/tool'))).toBe(true);
  });

  it('refuses a directory without a manifest, of another image, or that is gone', async () => {
    const directory = smallImage();
    const before = listing(directory);
    expect(await refusal(removing(directory, 'other'))).toContain('belongs to the image img');
    expect(listing(directory)).toEqual(before);
    rmSync(join(directory, 'muster-image.json'));
    expect(await refusal(removing(directory))).toContain('was not made by muster');
    expect(existsSync(join(directory, 'rootimg/bin/tool'))).toBe(true);
    rmSync(directory, { recursive: true });
    expect(await refusal(removing(directory))).toContain('nothing to remove');
  });

  it('refuses a manifest that is a link or says what it may not', async () => {
    const directory = smallImage();
    const file = join(directory, 'muster-image.json');
    renameSync(file, join(directory, 'm'));
    symlinkSync('m', file);
    expect(await refusal(removing(directory))).toContain('cannot be read');
    rmSync(file);
    writeFileSync(file, JSON.stringify({ image: 'img', files: ['../../../etc'] }));
    expect(await refusal(removing(directory))).toContain('is not a manifest of muster');
  });

  it('refuses a directory that was replaced by a link after it was judged', async () => {
    const directory = smallImage();
    const elsewhere = smallImage();
    renameSync(directory, `${directory}.old`);
    symlinkSync(elsewhere, directory);
    const before = listing(elsewhere);
    expect(await refusal(removing(directory))).toContain('leads elsewhere now');
    expect(listing(elsewhere)).toEqual(before);
  });

  it('refuses what is mounted', async () => {
    const directory = smallImage();
    const place = join(directory, 'rootimg/mnt');
    mkdirSync(place);
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', place]);
    onTestFinished(() => void execFileSync('umount', [place]));
    writeFileSync(join(place, 'data'), 'mine');
    expect(await refusal(removing(directory))).toContain(`Something is mounted at ${place}`);
    expect(existsSync(join(place, 'data'))).toBe(true);
    expect(existsSync(join(directory, 'muster-image.json'))).toBe(true);
  });
});

describe('where images lie', () => {
  const setUp = () => {
    const top = temporary();
    for (const name of ['install', 'data/files', 'more', 'elsewhere']) mkdirSync(join(top, name), { recursive: true });
    symlinkSync(join(top, 'elsewhere'), join(top, 'install/link'));
    symlinkSync('/etc', join(top, 'install/etc'));
    const data = join(top, 'data');
    const sources = new Sources([join(data, 'files')], data);
    const paths = new ImagePaths([join(top, 'more')], data, sources);
    const snapshot = snapshotOf({ site: [{ key: 'installdir', value: join(top, 'install') }] });
    return { top, data, sources, paths, snapshot };
  };

  it.each([
    ['/', 'outside the directories'],
    ['/etc', 'outside the directories'],
    ['TOP/install', 'outside the directories'],
    ['TOP/elsewhere/x', 'outside the directories'],
    ['TOP/install/link/x', 'outside the directories'],
    ['TOP/install/link', 'is a symbolic link'],
    ['TOP/install/etc', 'is a symbolic link'],
    ['TOP/install/etc/x', 'outside the directories'],
    ['TOP/install/../elsewhere', 'must not go up'],
    ['TOP/data/x', 'outside the directories'],
    ['install/x', 'is not a full path'],
    ['TOP/install/a\nb', 'control character'],
  ])('is not %s', (path, sentence) => {
    const { top, paths, snapshot } = setUp();
    const fault = faultOf(() => paths.place(snapshot, path.replace('TOP', top), 'rootimgdir'));
    expect(fault.message).toContain(sentence);
  });

  it('is not in the tree or among the packs of another image, which may lie anywhere else', () => {
    const { top, paths, snapshot } = setUp();
    const directory = smallImage(join(top, 'install'));
    for (const name of ['rootimg', 'rootimg/x', 'packs/x'])
      expect(faultOf(() => paths.place(snapshot, join(directory, name), 'x')).message).toContain(
        `part of the image in ${directory}`,
      );
    for (const path of [directory, join(directory, 'beside'), join(top, 'install/rootimg/x')])
      expect(paths.place(snapshot, path, 'x')).toBe(path);
  });

  it('is below installdir and the directories of the settings', () => {
    const { top, paths, snapshot } = setUp();
    for (const path of ['install/a/b/c', 'more/x'])
      expect(paths.place(snapshot, join(top, path), 'x')).toBe(join(top, path));
  });

  it.each(['/', '/etc', '/usr'])('is not in the operating system, even with an installdir of %s', (installdir) => {
    const { paths } = setUp();
    const snapshot = snapshotOf({ site: [{ key: 'installdir', value: installdir }] });
    expect(faultOf(() => paths.place(snapshot, '/etc/x', 'x')).message).toMatch(/operating system|outside/);
    expect(faultOf(() => paths.place(snapshot, '/usr/x', 'x')).message).toMatch(/operating system|outside/);
  });

  it('is not with our own data', () => {
    const { top, data, sources } = setUp();
    const paths = new ImagePaths([top], data, sources);
    const snapshot = snapshotOf({ site: [{ key: 'installdir', value: join(top, 'install') }] });
    expect(faultOf(() => paths.place(snapshot, join(data, 'x'), 'x')).message).toContain('own data');
    expect(faultOf(() => paths.source(snapshot, join(data, 'files'), 'x')).message).toContain('own data');
  });

  it('is not where lists are read from, and the other way round links are followed and judged', () => {
    const { top, data, paths, snapshot } = setUp();
    writeFileSync(join(data, 'files/list'), '');
    expect(paths.source(snapshot, join(data, 'files/list'), 'pkglist')).toBe(join(data, 'files/list'));
    expect(faultOf(() => paths.source(snapshot, join(top, 'install/etc/passwd'), 'pkglist')).message).toContain(
      'outside',
    );
    expect(faultOf(() => paths.source(snapshot, join(top, 'install/absent'), 'pkglist')).message).toContain(
      'does not exist',
    );
  });
});
