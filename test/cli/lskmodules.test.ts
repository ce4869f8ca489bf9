import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { runHere } from './replay/run.ts';

let server: TestServer;
let install: string;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startServer();
  install = temporaryDirectory();
  env = { HOME: server.data, MUSTER_SOCKET: join(server.data, 'muster.sock') };
  await server.ok('PUT', '/globalconf/attrs/installdir', { installdir: install });
});
afterAll(async () => {
  rmSync(install, { recursive: true, force: true });
  await server.stop();
});

const run = (...argv: string[]) => runHere({ argv, stdin: '', env });
const module = (description: string): Buffer =>
  Buffer.from(`\x7fELF\0license=GPL\0description=${description}\0author=x\0`);

const define = (type: string, names: string, attributes: object) =>
  server.ok('POST', '/definitions', { definitions: [{ type, names, attributes }] });

/** Modules in `lib/modules`, as packages bring them. */
function modulesIn(directory: string, files: Readonly<Record<string, Buffer>>): void {
  mkdirSync(join(directory, 'lib/modules/6.1'), { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, 'lib/modules/6.1', name), content);
}

it('lists modules in the directories of images', async () => {
  modulesIn(join(install, 'drivers'), { 'one.ko': module('the first'), 'two.ko.gz': gzipSync(module('the second')) });
  await define('osimage', 'img', {
    imagetype: 'linux',
    provmethod: 'netboot',
    driverupdatesrc: `dir:${join(install, 'drivers')}`,
  });
  expect(await run('lskmodules', '-i', 'img')).toEqual({
    code: 0,
    stdout: 'one.ko: the first\ntwo.ko: the second\n',
    stderr: '',
  });
  expect(JSON.parse((await run('lskmodules', '-i', 'img', '--format', 'json')).stdout)).toEqual([
    { name: 'one.ko', description: 'the first' },
    { name: 'two.ko', description: 'the second' },
  ]);
});

it('searches packages of both kinds', async () => {
  const tree = join(install, 'deb');
  modulesIn(tree, { 'deb.ko': module('of Debian') });
  mkdirSync(join(tree, 'DEBIAN'));
  const control = 'Package: linux-image-x\nVersion: 1\nArchitecture: all\nMaintainer: x <x@x>\nDescription: x\n';
  writeFileSync(join(tree, 'DEBIAN/control'), control);
  mkdirSync(join(install, 'medium/pool'), { recursive: true });
  execFileSync('dpkg-deb', ['--build', tree, join(install, 'medium/pool/linux-image-x_1_all.deb')], {
    stdio: 'ignore',
  });
  await define('osdistro', 'debian12', { dirpaths: join(install, 'medium') });

  const source = join(install, 'rpm');
  modulesIn(source, { 'rpm.ko': module('of Red Hat') });
  writeFileSync(
    join(install, 'x.spec'),
    `Name: kmod-x\nVersion: 1\nRelease: 1\nSummary: x\nLicense: x\nBuildArch: noarch\n%description\nx\n%install\ncp -r ${source}/lib %{buildroot}/\n%files\n/lib/modules/6.1/rpm.ko\n`,
  );
  const defined = { _topdir: join(install, 'top'), _rpmdir: join(install, 'rpms'), _dbpath: join(install, 'db') };
  const words = Object.entries(defined).flatMap(([macro, value]) => ['--define', `${macro} ${value}`]);
  execFileSync('rpmbuild', ['-bb', ...words, join(install, 'x.spec')], { stdio: 'ignore' });
  cpSync(join(install, 'rpms/noarch'), join(install, 'repo'), { recursive: true });
  await define('kitrepo', 'repo', { kitrepodir: join(install, 'repo') });
  await define('kitcomponent', 'comp', { kitreponame: 'repo', driverpacks: 'kmod-x-1-1.noarch.rpm' });
  expect(await run('lskmodules', '-o', 'debian12', '-c', 'comp')).toEqual({
    code: 0,
    stdout: 'deb.ko: of Debian\nrpm.ko: of Red Hat\n',
    stderr: '',
  });
});

it('names what does not exist, or cannot be searched', async () => {
  expect(await run('lskmodules', '-i', 'nosuch')).toMatchObject({ code: 1, stderr: expect.stringContaining('nosuch') });
  writeFileSync(join(install, 'disk.img'), '');
  await define('osimage', 'dud', { imagetype: 'linux', driverupdatesrc: join(install, 'disk.img') });
  expect(await run('lskmodules', '-i', 'dud')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('cannot be searched'),
  });
  expect(await run('lskmodules')).toMatchObject({ code: 1, stdout: expect.stringContaining('Usage') });
});
