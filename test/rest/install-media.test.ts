import { readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { burn } from '../lab/media/burn.ts';
import { Tampered } from '../lab/media/tamper.ts';
import { anacondaTree, debianTree, leapTree, ubuntuTree } from '../lab/media/trees.ts';

let server: TestServer;
const data = temporaryDirectory();
const installdir = temporaryDirectory();

beforeAll(async () => {
  server = await startServer({ data });
  await server.ok('PUT', '/globalconf/attrs/installdir', { installdir });
});
afterAll(async () => {
  await server.stop();
  for (const directory of [data, installdir]) rmSync(directory, { recursive: true });
});

const copy = (body: object, options: Parameters<TestServer['call']>[2] = {}) =>
  server.call('POST', '/osimages', { body, ...options });
const refused = async (body: object, root = '/muster') => {
  const reply = await copy(body, { root });
  return [...errorOf(reply), reply.json.error.join(' ')];
};

test('POST /osimages copies a medium and defines its images', async () => {
  const iso = burn(installdir, 'debian', debianTree());
  const tree = join(installdir, 'debian12.12/x86_64');
  const reply = await copy({ iso });
  expect([reply.status, reply.text]).toEqual([201, '']);
  expect(readdirSync(tree)).toContain('.disk');
  await expect.poll(() => readdirSync(installdir).sort()).toEqual(['debian.iso', 'debian12.12']);
  const names = ['install', 'netboot', 'statelite'].map((method) => `debian12.12-x86_64-${method}-compute`);
  expect(await server.ok('GET', '/osimages')).toEqual(expect.arrayContaining(names));
  expect((await server.ok('GET', `/osimages/${names[1]}`))[names[1]!]).toMatchObject({
    osvers: 'debian12.12',
    osarch: 'x86_64',
    provmethod: 'netboot',
    profile: 'compute',
    pkgdir: tree,
    rootimgdir: join(installdir, 'netboot/debian12.12/x86_64/compute'),
    addkcmdline: 'quiet',
  });
  expect(await server.ok('GET', '/tables/osdistro/rows')).toMatchObject({
    osdistro: [
      {
        osdistroname: 'debian12.12-x86_64',
        basename: 'debian',
        majorversion: '12',
        minorversion: '12',
        dirpaths: tree,
      },
    ],
  });
  const run = await server.ok('GET', `/runs/${String(reply.headers['x-muster-run'])}`);
  expect(run.lines).toEqual(expect.arrayContaining(['DISTNAME:debian12.12', `Copied to ${tree}.`]));
});

test('again with the same medium nothing is copied and nothing changes', async () => {
  const iso = join(installdir, 'debian.iso');
  const before = (await copy({ iso })).headers['x-muster-revision'];
  const { json, headers } = await copy({ iso }, { query: { debug: 1 } });
  expect(json.debug).toEqual(expect.arrayContaining([`copycds ${iso}`, expect.stringMatching(/^All of it is in/)]));
  expect(headers['x-muster-revision']).toBe(before);
});

test('at /xcatws with params as the reference system takes them', async () => {
  const iso = burn(installdir, 'said', { 'readme.txt': 'some files' });
  const reply = await copy({ iso, params: [{ '-n': 'rocky8.9', '-a': 'x86_64', '-o': '' }] }, { root: '/xcatws' });
  expect([reply.status, reply.text]).toEqual([201, '']);
  expect(await server.ok('GET', '/osimages')).not.toContain('rocky8.9-x86_64-install-compute');
  expect((await server.ok('GET', '/tables/osdistro/rows/osdistroname=rocky8.9-x86_64')).osdistro).toHaveLength(1);
});

test('inspected, a medium is told with debug=1 and on the stream', async () => {
  const iso = burn(installdir, 'leap', leapTree());
  const body = { iso, params: [{ inspect: true }] };
  const { json } = await copy(body, { query: { debug: 1 } });
  expect(json.debug).toEqual(expect.arrayContaining(['DISTNAME:leap15.6', 'ARCH:x86_64', 'DISCNO:1']));
  const stream = await copy(body, { headers: { Accept: 'application/x-ndjson' } });
  expect(stream.text.trim().split('\n').at(-1)).toContain('"errorcode":0');
  expect(readdirSync(installdir)).not.toContain('leap15.6');
});

test('-p must lie below the directories for images', async () => {
  const iso = burn(installdir, 'ubuntu', ubuntuTree());
  expect(await refused({ iso, params: [{ '-p': '/etc/media' }] })).toEqual([
    403,
    1,
    expect.stringContaining('outside the directories for images'),
  ]);
  const path = join(installdir, 'media/mine');
  await server.ok('POST', '/osimages', { iso, params: [{ '-p': path }] });
  expect(readdirSync(path)).toContain('casper');
  const [row] = (await server.ok('GET', '/tables/osdistro/rows/osdistroname=ubuntu24.04.3-x86_64')).osdistro;
  expect(row.dirpaths).toBe(path);
});

test('an account that may only copy media cannot bring templates, lists and scripts that images find', async () => {
  await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=carla', { password: 'carlas-own' });
  await server.ok('POST', '/policy/6', { name: 'carla', commands: 'copycds', rule: 'allow' });
  const { token } = await server.ok('POST', '/tokens', { userName: 'carla', userPW: 'carlas-own' }, { token: null });
  const files = { 'compute.tmpl': 'd-i preseed/late_command string evil\n', 'compute.postinstall': '#!/bin/sh\n' };
  const iso = burn(installdir, 'planted', { ...debianTree(), ...files });
  const places = [
    'custom/install/debian',
    'custom',
    'custom/media',
    'netboot/debian12/x86_64',
    'postscripts/x86_64',
    'winpostscripts',
    'post/otherpkgs/debian12.12/x86_64',
    'export/x86_64',
    'debian12',
    'debian12/nothing',
    'debian12/x86_64/more',
    'media',
  ];
  for (const place of places) {
    const reply = await copy({ iso, params: [{ '-p': join(installdir, place) }] }, { token: token.id });
    expect([place, ...errorOf(reply), reply.json.error[0]]).toEqual([
      place,
      403,
      1,
      expect.stringContaining('is not for media'),
    ]);
  }
  expect(readdirSync(installdir).filter((name) => ['custom', 'netboot', 'post'].includes(name))).toEqual([]);
});

test('-p is neither inside the tree of another medium nor where an image has its files', async () => {
  const iso = join(installdir, 'ubuntu.iso');
  await server.ok('POST', '/osimages/scripted', {
    imagetype: 'linux',
    provmethod: 'netboot',
    postinstall: join(installdir, 'media/scripts/run'),
    rootimgdir: join(installdir, 'media/tree/compute'),
    otherpkgdir: `http://127.0.0.1/none,${join(installdir, 'media/extra')}`,
    kerneldir: join(installdir, 'media/kernel/mine'),
    driverupdatesrc: `dir:${join(installdir, 'media/drivers')}`,
    partitionfile: `s:d:${join(installdir, 'media/disks/choose')}`,
  });
  for (const [place, sentence] of [
    ['media/mine/below', 'is inside the tree of another medium'],
    ['media/scripts', 'is where the image scripted has its postinstall'],
    ['media/tree', 'is where the image scripted has its rootimgdir'],
    ['media/tree/compute/rootimg', 'is where the image scripted has its rootimgdir'],
    ['media/extra', 'is where the image scripted has its otherpkgdir'],
    ['media/extra/more', 'is where the image scripted has its otherpkgdir'],
    ['media/kernel', 'is where the image scripted has its kerneldir'],
    ['media/drivers', 'is where the image scripted has its driverupdatesrc'],
    ['media/disks', 'is where the image scripted has its partitionfile'],
    ['debian12.12/x86_64', 'is the tree of debian12.12 for x86_64, and the medium is ubuntu24.04.3'],
  ] as const)
    expect(await refused({ iso, params: [{ '-p': join(installdir, place) }] })).toEqual([
      403,
      1,
      expect.stringContaining(sentence),
    ]);
  await server.ok('POST', '/osimages', { iso, params: [{ '-p': join(installdir, 'ubuntu24.04-test/x86_64') }] });
  await server.ok('DELETE', '/osimages/scripted');
});

test('without -p a medium brings no file that an image names either', async () => {
  const tree = join(installdir, 'debian12.5/x86_64');
  await server.ok('POST', '/osimages/im', {
    imagetype: 'linux',
    provmethod: 'install',
    template: join(tree, 'compute.tmpl'),
  });
  const files = { ...debianTree(), 'compute.tmpl': 'd-i preseed/late_command string evil\n' };
  const body = { iso: burn(installdir, 'evil', files), params: [{ '-n': 'debian12.5' }] };
  expect(await refused(body)).toEqual([
    403,
    1,
    expect.stringContaining(`is where the image im has its template, ${tree}/compute.tmpl`),
  ]);
  expect(readdirSync(installdir)).not.toContain('debian12.5');
  await server.ok('DELETE', '/osimages/im');
  await server.ok('POST', '/osimages', body);
  // The same medium is no danger to what is there: nothing is written.
  await server.ok('PUT', '/osimages/debian12.5-x86_64-install-compute', { template: join(tree, 'compute.tmpl') });
  await server.ok('POST', '/osimages', body);
});

test('what cannot be copied is an error that says why', async () => {
  const noise = join(installdir, 'noise.iso');
  writeFileSync(noise, 'x'.repeat(100_000));
  expect(await refused({})).toEqual([400, 2, expect.stringContaining('give iso')]);
  expect(await refused({}, '/xcatws')).toEqual([404, 2, expect.stringContaining('give iso')]);
  expect(await refused({ iso: join(installdir, 'missing.iso') })).toEqual([
    403,
    1,
    expect.stringContaining('does not exist'),
  ]);
  for (const body of [{ iso: '/etc/passwd' }, { file: '/etc/passwd' }, { file: '/etc/missing.tgz' }]) {
    const [status, , error] = await refused(body);
    expect([status, error]).toEqual([403, expect.stringContaining(`site.installdir (${installdir})`)]);
    expect(error).toContain('images.directories (none)');
  }
  expect(await refused({ iso: noise, params: [{ '-n': '../../etc' }] })).toEqual([
    403,
    1,
    expect.stringContaining('is not the name of an operating system'),
  ]);
  expect(await refused({ iso: noise, params: [{ '-a': '../x' }] })).toEqual([
    403,
    1,
    expect.stringContaining('is not an architecture'),
  ]);
  expect(await refused({ iso: 'relative.iso' })).toEqual([403, 1, expect.stringContaining('not a full path')]);
  expect(await refused({ iso: noise })).toEqual([403, 1, expect.stringContaining('not an ISO 9660 image')]);
  expect(await refused({ iso: noise, params: [{ '-z': '' }] })).toEqual([
    400,
    2,
    expect.stringContaining('known are name (-n, --osver)'),
  ]);
  expect(await refused({ iso: installdir })).toEqual([403, 1, expect.stringContaining('not a plain file')]);
  expect(await refused({ file: installdir })).toEqual([403, 1, expect.stringContaining('is not a plain file')]);
  expect(await refused({ iso: noise, file: noise })).toEqual([
    400,
    2,
    expect.stringContaining('names both iso and file'),
  ]);
  expect(await refused({ iso: [1] })).toEqual([400, 2, expect.any(String)]);
});

test('policies see the medium and the params', async () => {
  await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=anna', { password: 'annas-own' });
  await server.ok('POST', '/policy/5', {
    name: 'anna',
    commands: 'copycds',
    parameters: '.*[^a-z]-i( |$)',
    rule: 'allow',
  });
  const { token } = await server.ok('POST', '/tokens', { userName: 'anna', userPW: 'annas-own' }, { token: null });
  const iso = join(installdir, 'leap.iso');
  expect((await copy({ iso, params: [{ '-i': '' }] }, { token: token.id })).status).toBe(201);
  expect(errorOf(await copy({ iso }, { token: token.id }))).toEqual([403, 2]);
});

test('a kill in the middle leaves nothing half made, and the same command works afterwards', async () => {
  const place = join(installdir, 'rocky9.6');
  const iso = burn(installdir, 'rocky', { ...anacondaTree('Rocky Linux', '9.6'), 'zz.img': 'large' });
  const tampered = new Tampered(iso);
  // Four gigabytes of nothing, which take a while to write.
  tampered.setExtent(tampered.record('ZZ.IMG;1'), { size: 0xffff_f800 }).save();
  truncateSync(iso, 2 ** 33);
  const stagings = () => readdirSync(installdir).filter((name) => name.startsWith('.muster-'));
  await expect.poll(stagings).toEqual([]);
  await copy({ iso }, { headers: { Prefer: 'respond-async' } });
  while (stagings().length === 0) await pause(5);
  server.child.kill('SIGKILL');
  await new Promise((resolve) => server.child.once('exit', resolve));
  server = await startServer({ data });
  expect(stagings()).toEqual([]);
  expect(readdirSync(installdir)).not.toContain('rocky9.6');
  const whole = burn(installdir, 'rocky', anacondaTree('Rocky Linux', '9.6'));
  await server.ok('POST', '/osimages', { iso: whole });
  expect(readdirSync(join(place, 'x86_64'))).toContain('.treeinfo');
});
