import { execFileSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { makeRpmDistribution } from '../images/rpm-distribution.ts';

let server: TestServer;
const data = temporaryDirectory();
const installdir = temporaryDirectory();
const arch = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
const config = '[longWork]\nreserve = 1\n';

const attributes = {
  imagetype: 'linux',
  osvers: 'rocky9',
  osarch: arch,
  osname: 'Linux',
  profile: 'compute',
  provmethod: 'netboot',
  pkgdir: join(installdir, 'repository'),
  pkglist: join(installdir, 'compute.pkglist'),
  exlist: join(installdir, 'compute.exlist'),
};
const directory = join(installdir, 'netboot/rocky9', arch, 'compute');

beforeAll(async () => {
  makeRpmDistribution(installdir);
  writeFileSync(attributes.pkglist, 'lab-tool lab-kernel\n');
  writeFileSync(attributes.exlist, './boot*\n');
  server = await startServer({ data, config });
  await server.ok('PUT', '/globalconf/attrs/installdir', { installdir });
  await server.ok('PUT', '/tables/passwd/rows/key=system,username=root', { password: 'secret word' });
  await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=anna', { password: 'annas-own' });
  await server.ok('POST', '/policy/5', { name: 'anna', commands: 'packimage,lsimage', rule: 'allow' });
  await server.ok('POST', '/osimages/img', attributes);
});
afterAll(async () => {
  await server.stop();
  for (const each of [data, installdir]) rmSync(each, { recursive: true });
});

type Options = Parameters<TestServer['call']>[2];
const instance = (body: object, options: Options = {}, image = 'img') =>
  server.call('POST', `/osimages/${image}/instance`, { body, ...options });
const refusal = async (body: object, options: Options = {}, image = 'img') => {
  const reply = await instance(body, options, image);
  return [...errorOf(reply), reply.json.error.join(' ')];
};
const succeed = async (body: object, image = 'img') => {
  const reply = await instance(body, {}, image);
  expect(reply.status, reply.text).toBe(201);
  return reply;
};
const annasToken = async (): Promise<string> =>
  (await server.ok('POST', '/tokens', { userName: 'anna', userPW: 'annas-own' }, { token: null })).token.id;

describe('POST instance', () => {
  test.each([
    [{}, 400, 404, 'lacks the member "action"'],
    [{ action: 'bogus' }, 400, 400, 'known are gen, pack, export, run, rollback'],
    [{ action: 'run' }, 400, 403, 'command'],
    [{ action: 'gen', command: ['x'] }, 400, 400, 'belongs to the action run'],
    [{ action: 'gen', params: [{ bogus: '' }] }, 400, 400, 'known are anew'],
    [{ action: 'pack' }, 403, 403, 'build it first'],
    [{ action: 'pack', params: [{ method: 'tar' }] }, 403, 403, 'squashfs or cpio'],
    [{ action: 'pack', params: [{ '-m': 'cpio' }, { '-c': 'lz4' }] }, 403, 403, 'cpio is compressed by'],
    [{ action: 'export' }, 403, 403, 'is not packed'],
    [{ action: 'export', params: [{ destination: '/etc/x.tgz' }] }, 403, 403, 'outside the directories'],
    [{ action: 'rollback' }, 403, 403, 'has no older pack'],
  ])('refuses %j', async (body, atMuster, atReference, sentence) => {
    const [status, , text] = await refusal(body);
    expect([status, text]).toEqual([atMuster, expect.stringContaining(sentence)]);
    expect((await refusal(body, { root: '/xcatws' }))[0]).toBe(atReference);
  });

  test('refuses to put a bundle among the files that images and nodes find', async () => {
    const [, , text] = await refusal({
      action: 'export',
      params: [{ destination: join(installdir, 'custom/netboot/x.tgz') }],
    });
    expect(text).toContain(`is not for bundles: they are written below ${installdir}/export`);
  });

  test('refuses an image that does not exist, and one that is installed', async () => {
    expect((await refusal({ action: 'gen' }, {}, 'absent'))[0]).toBe(404);
    await server.ok('POST', '/osimages/installed', { ...attributes, provmethod: 'install' });
    expect((await refusal({ action: 'gen' }, {}, 'installed'))[2]).toContain('only images of netboot and statelite');
  });

  test('an image without pkglist has the list for its profile that comes with muster', async () => {
    const { pkgdir: _, pkglist: _list, ...rest } = attributes;
    await server.ok('POST', '/osimages/bare', rest);
    // So the list is found.
    expect((await refusal({ action: 'gen' }, {}, 'bare'))[2]).toContain(
      'pkgdir must name where the packages come from',
    );
    await server.ok('PUT', '/osimages/bare', { profile: 'mine' });
    expect((await refusal({ action: 'gen' }, {}, 'bare'))[2]).toBe(
      `bare: there is no list of packages for the profile "mine" of rocky9; set its attribute pkglist, or put mine.pkglist into ${installdir}/custom/netboot/rocky.`,
    );
  });

  test.each([
    ['/', 'outside'],
    ['/etc', 'outside'],
    ['INSTALLDIR/link', 'symbolic link'],
    ['INSTALLDIR/../x', 'must not go up'],
  ])('refuses a rootimgdir of %s', async (rootimgdir, sentence) => {
    if (!existsSync(join(installdir, 'link'))) symlinkSync('/etc', join(installdir, 'link'));
    await server.ok('PUT', '/osimages/img', { rootimgdir: rootimgdir.replace('INSTALLDIR', installdir) });
    for (const action of ['gen', 'pack', 'export']) expect((await refusal({ action }))[2]).toContain(sentence);
    const reply = await server.call('DELETE', '/osimages/img/instance');
    expect([reply.status, reply.text]).toEqual([403, expect.stringContaining(sentence)]);
    await server.ok('PUT', '/osimages/img', { rootimgdir: '' });
  });

  test('refuses lists outside the directories, and what would reach a program as an option', async () => {
    await server.ok('PUT', '/osimages/img', { pkglist: '/etc/passwd' });
    expect((await refusal({ action: 'gen' }))[2]).toContain('outside the directories');
    writeFileSync(join(installdir, 'bad.pkglist'), 'lab-tool;id\n');
    await server.ok('PUT', '/osimages/img', { pkglist: join(installdir, 'bad.pkglist') });
    expect((await refusal({ action: 'gen' }))[2]).toContain('is not the name of a package');
    await server.ok('PUT', '/osimages/img', { pkglist: attributes.pkglist, pkgdir: '$(touch /tmp/x)' });
    expect((await refusal({ action: 'gen' }))[2]).toContain('neither a full path nor an http');
    await server.ok('PUT', '/osimages/img', { pkgdir: 'http://anna:geheim@mirror.example/debian' });
    const login = (await refusal({ action: 'gen' }))[2];
    expect(login).toContain('a URL with a login cannot be used');
    expect(login).not.toContain('geheim');
    await server.ok('PUT', '/osimages/img', { netdrivers: '-f', pkgdir: attributes.pkgdir });
    expect((await refusal({ action: 'gen' }))[2]).toContain('is not the name of a driver');
    await server.ok('PUT', '/osimages/img', { netdrivers: '' });
    expect(existsSync(join(installdir, 'netboot'))).toBe(false);
  });
});

describe('an image', () => {
  test('is built, packed, shown, mended, put back, exported, removed and imported', async () => {
    await succeed({ action: 'gen' });
    expect(readdirSync(directory).sort()).toEqual([
      '.private',
      'initrd-stateless.gz',
      'kernel',
      'muster-image.json',
      'rootimg',
    ]);
    await server.ok('POST', '/osimages/lite', { ...attributes, provmethod: 'statelite' });
    await succeed({ action: 'gen' }, 'lite');
    const lite = await server.ok('GET', '/osimages/lite/instance');
    expect(lite).toMatchObject({ directory: directory.replace('netboot', 'statelite'), image: 'lite' });
    expect(lite.files).toEqual(['kernel', 'initrd-statelite.gz']);
    await server.ok('DELETE', '/osimages/lite/instance');
    await succeed({ action: 'pack' });
    const shown = await server.ok('GET', '/osimages/img/instance');
    expect(shown).toMatchObject({
      image: 'img',
      directory,
      made: { by: 'root' },
      source: { kind: 'packages', lists: [{ path: attributes.pkglist }] },
      packs: [{ method: 'squashfs', made: { by: 'root' }, lists: [{ path: attributes.exlist }] }],
    });
    expect(JSON.stringify(shown)).not.toContain('recipe');
    const list = execFileSync('unsquashfs', ['-cat', join(directory, 'rootimg.sfs'), 'etc/shadow'], {
      encoding: 'utf8',
    });
    expect(list).toMatch(/^root:\$(y|6)\$[^:]+:/);
    expect(list).not.toContain('secret word');

    execFileSync('cp', ['/bin/busybox', join(directory, 'rootimg/usr/bin/busybox')]);
    const ran = await succeed({ action: 'run', command: ['/usr/bin/busybox', 'echo', '$(id); a  b'] });
    expect(ran.json).toEqual(['$(id); a  b']);
    await succeed({ action: 'run', command: ['/usr/bin/busybox', 'touch', '/etc/mended'] });
    await succeed({ action: 'pack', params: [{ method: 'squashfs', compress: 'gzip' }] });
    const after = await server.ok('GET', '/osimages/img/instance');
    expect(after.runs.map(({ command }: { command: string[] }) => command[1])).toEqual(['echo', 'touch']);
    expect(after.packs).toHaveLength(2);
    await succeed({ action: 'rollback' });
    expect((await server.ok('GET', '/osimages/img/instance')).current).toBe(shown.current);

    await succeed({ action: 'export' });
    const bundle = join(installdir, 'export/img.tgz');
    expect(existsSync(bundle)).toBe(true);
    const taken = await server.call('POST', '/osimages', { body: { file: bundle } });
    expect([taken.status, taken.text]).toEqual([403, expect.stringContaining('There is an image img already')]);
    const packed = readFileSync(join(directory, 'rootimg.sfs'));
    expect((await server.call('DELETE', '/osimages/img/instance')).status).toBe(200);
    expect(existsSync(directory)).toBe(false);
    expect((await server.call('GET', '/osimages/img/instance')).status).toBe(404);
    await server.ok('POST', '/osimages', { file: bundle, params: [{ name: 'img2' }] });
    expect(await server.ok('GET', '/osimages/img2')).toMatchObject({
      img2: {
        osvers: 'rocky9',
        rootimgdir: directory,
        pkglist: join(installdir, 'custom/imported/img2/compute.pkglist'),
      },
    });
    expect(readFileSync(join(directory, 'rootimg.sfs')).equals(packed)).toBe(true);
    await server.ok('DELETE', '/osimages/img2/instance');
  });

  test('of another is not touched, and rules count for each action', async () => {
    const token = await annasToken();
    expect((await refusal({ action: 'gen' }, { token }))[0]).toBe(403);
    expect((await refusal({ action: 'pack' }, { token }))[2]).toContain('build it first');
    expect((await refusal({ action: 'run', command: ['id'] }, { token }))[2]).toContain('imgrun');
    expect((await server.call('DELETE', '/osimages/img/instance', { token })).status).toBe(403);
  });

  test('that is being built is not built by a second caller; cancelled, nothing is left of it', async () => {
    mkdirSync(join(installdir, 'scripts'), { recursive: true });
    execFileSync('cp', ['/bin/busybox', join(installdir, 'scripts/busybox')]);
    const script = join(installdir, 'scripts/slow');
    writeFileSync(script, '#!/run/muster/0/busybox sh\necho slow\n/run/muster/0/busybox sleep 600\n', { mode: 0o755 });
    await server.ok('PUT', '/osimages/img', { postinstall: script });
    const before = await instance({ action: 'gen' }, { headers: { Prefer: 'respond-async' } });
    expect(before.status).toBe(202);
    const run = String(before.headers['x-muster-run']);
    await until(async () => (await server.ok('GET', `/runs/${run}`)).lines?.includes('slow') === true);
    expect((await refusal({ action: 'pack' }))[2]).toMatch(/root.*genimage|genimage.*root/);
    await server.ok('DELETE', `/runs/${run}`);
    await until(async () => (await server.ok('GET', `/runs/${run}`)).state !== 'running');
    expect(existsSync(join(installdir, 'netboot/rocky9', arch, 'compute'))).toBe(false);
    expect(stagings(installdir).filter((name) => name.includes(run))).toEqual([]);
  });

  test('whose building was killed with muster can be built again', async () => {
    const begun = await instance({ action: 'gen' }, { headers: { Prefer: 'respond-async' } });
    const run = String(begun.headers['x-muster-run']);
    await until(async () => (await server.ok('GET', `/runs/${run}`)).lines?.includes('slow') === true);
    server.child.kill('SIGKILL');
    await new Promise((resolve) => server.child.once('exit', resolve));
    server = await startServer({ data, config });
    expect((await server.ok('GET', `/runs/${run}`)).state).toBe('interrupted');
    await until(async () => stagings(installdir).length === 0);
    expect(existsSync(directory)).toBe(false);
    await server.ok('PUT', '/osimages/img', { postinstall: '' });
    await succeed({ action: 'gen' });
    await server.ok('DELETE', '/osimages/img/instance');
  });
}, 600_000);

/** Directories may go while they are looked through. */
const stagings = (top: string): string[] => globSync('**/.muster-*', { cwd: top });

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(50);
}
