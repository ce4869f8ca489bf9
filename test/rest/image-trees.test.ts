import { execFileSync } from 'node:child_process';
import { chownSync, lstatSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { manifestFile } from '../../src/images/manifest.ts';
import { written } from '../harness/output.ts';
import { startServer, temporaryDirectory } from '../harness/server.ts';
import { smallImage } from '../images/small-image.ts';

const [data, installdir] = [temporaryDirectory(), temporaryDirectory()];
afterAll(() => [data, installdir].forEach((each) => rmSync(each, { recursive: true })));

const kindOf = (path: string): string => {
  const status = lstatSync(path);
  return status.isSymbolicLink() ? 'link' : status.isDirectory() ? 'directory' : 'file';
};

test('a start finds trees without a definition wherever they lie, and tells of those that it cannot close', async () => {
  const [own, apart, further] = [temporaryDirectory(), temporaryDirectory(), temporaryDirectory()];
  const first = await startServer({ data: own });
  await first.ok('PUT', '/globalconf/attrs/installdir', { installdir: apart });
  await first.ok('POST', '/osimages/outside', {
    imagetype: 'linux',
    provmethod: 'netboot',
    osvers: 'debian12',
    osarch: 'x86_64',
    profile: 'compute',
    rootimgdir: '/srv/none/compute',
  });
  await first.ok('POST', '/osimages/installed', { imagetype: 'linux', provmethod: 'install' });
  await first.stop();
  const images = [
    smallImage(join(apart, 'old/er'), 'deep', 'deep'),
    smallImage(join(apart, 'packs'), 'shallow', 'shallow'),
    smallImage(join(further, 'images'), 'further', 'further'),
  ];
  const theirs = smallImage(join(apart, 'theirs'), 'theirs', 'theirs');
  chownSync(join(apart, 'theirs'), 65534, 65534);
  const second = await startServer({ data: own, environment: { MUSTER_IMAGES_DIRECTORIES: further } });
  try {
    for (const directory of images)
      await expect.poll(() => kindOf(join(directory, 'rootimg')), { timeout: 20_000 }).toBe('link');
    await expect
      .poll(() => second.output(), { timeout: 20_000 })
      .toContain(
        `The tree in ${theirs} may be open to every user of this machine: ${join(apart, 'theirs')} belongs to the user with the id 65534`,
      );
    expect(kindOf(join(theirs, 'rootimg'))).toBe('directory');
    await expect.poll(() => second.output()).toContain('If the image outside has a tree, it may be open');
    expect(await written(second)).not.toContain('image installed');
  } finally {
    await second.stop();
    for (const each of [own, apart, further]) rmSync(each, { recursive: true });
  }
});

test('a start closes the trees that are open to every user, and tells of those that it leaves', async () => {
  const first = await startServer({ data });
  await first.ok('PUT', '/globalconf/attrs/installdir', { installdir });
  const define = (image: string, rootimgdir: string) =>
    first.ok('POST', `/osimages/${image}`, {
      imagetype: 'linux',
      provmethod: 'netboot',
      osvers: 'debian12',
      osarch: 'x86_64',
      profile: image,
      rootimgdir,
    });
  const [usual, apart, forgotten, handmade, mounted] = [
    smallImage(installdir, 'usual', 'usual'),
    smallImage(join(installdir, 'apart'), 'apart', 'apart'),
    smallImage(installdir, 'forgotten', 'forgotten'),
    smallImage(installdir, 'handmade', 'handmade'),
    smallImage(installdir, 'mounted', 'mounted'),
  ];
  rmSync(join(handmade, manifestFile));
  await define('usual', usual);
  await define('apart', apart);
  await define('handmade', handmade);
  mkdirSync(join(installdir, 'netboot/notes'));
  await first.stop();
  execFileSync('mount', ['--bind', join(mounted, 'rootimg'), join(mounted, 'rootimg')]);
  const second = await startServer({ data });
  try {
    for (const directory of [usual, apart, forgotten]) {
      expect(kindOf(join(directory, 'rootimg'))).toBe('link');
      expect(lstatSync(join(directory, '.private')).mode & 0o777).toBe(0o700);
      expect(readFileSync(join(directory, 'rootimg/bin/tool'), 'utf8')).toBe('tool');
    }
    for (const directory of [handmade, mounted]) expect(kindOf(join(directory, 'rootimg'))).toBe('directory');
    await expect.poll(() => second.output()).toContain(`${handmade}/rootimg was not made by muster`);
    await expect.poll(() => second.output()).toContain(`${mounted}/rootimg cannot be moved`);
    await second.ok('POST', '/osimages/usual/instance', { action: 'pack' });
    await second.ok('DELETE', '/osimages/usual/instance');
    expect(() => lstatSync(usual)).toThrow('ENOENT');
  } finally {
    execFileSync('umount', [join(mounted, 'rootimg')]);
    await second.stop();
  }
});
