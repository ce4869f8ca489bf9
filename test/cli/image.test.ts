import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ended, muster } from '../harness/muster-command.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { writeLayout } from '../lab/oci/layout.ts';
import { file } from '../lab/oci/tar.ts';
import { makeRpmDistribution } from '../images/rpm-distribution.ts';
import { environmentFor } from './command-line.ts';

let server: TestServer;
const installdir = temporaryDirectory();
const arch = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
const directory = join(installdir, 'netboot/rocky9', arch, 'compute');
const inTree = (path: string): string => join(directory, 'rootimg', path);

beforeAll(async () => {
  makeRpmDistribution(installdir);
  const pkglist = join(installdir, 'compute.pkglist');
  writeFileSync(pkglist, 'lab-tool lab-kernel\n');
  server = await startServer({ config: '[longWork]\nreserve = 1\n' });
  await server.ok('PUT', '/globalconf/attrs/installdir', { installdir });
  const attributes = { imagetype: 'linux', osvers: 'rocky9', osarch: arch, profile: 'compute', provmethod: 'netboot' };
  await server.ok('POST', '/osimages/img', { ...attributes, pkgdir: join(installdir, 'repository'), pkglist });
});
afterAll(async () => {
  await server?.stop();
  rmSync(installdir, { recursive: true });
});

const image = (
  words: readonly string[],
  { input = '', env = {} }: { input?: string; env?: Record<string, string> } = {},
) => ended(muster, ['image', ...words], { ...environmentFor(server, server.data), ...env }, input);
const packs = async (): Promise<{ id: string; tags?: string[] }[]> =>
  (await server.ok('GET', '/osimages/img/instance')).packs;

describe('muster image pull', { timeout: 300_000 }, () => {
  it('makes an image of a container in a file, with the options that are given', async () => {
    const release = file('etc/os-release', 'ID=debian\nVERSION_ID=12\n');
    writeLayout(join(installdir, 'motd.oci'), [[release, file('etc/motd', 'hello\n')]]);
    const words = ['--osvers', 'rocky9.5', '--profile', 'other', 'web', join(installdir, 'motd.oci')];
    expect(await image(['pull', ...words])).toMatchObject({ code: 0 });
    const { web } = await server.ok('GET', '/osimages/web');
    expect(web).toMatchObject({ osvers: 'rocky9.5', profile: 'other', provmethod: 'netboot' });
    expect(readFileSync(join(web.rootimgdir, 'rootimg/etc/motd'), 'utf8')).toBe('hello\n');
    expect(await image(['pull', '--kernel', 'nosuch', 'web', join(installdir, 'motd.oci')])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nosuch'),
    });
  });

  it.each([
    [['pull', '--curl', 'web', 'reg.example/a:1'], 0, `{"name":"web","oci":"reg.example/a:1"}`],
    [['pull', '--curl', '--force', '--kernel', 'img', 'web', 'reg.example/a:1'], 0, `[{"kernel":"img"},{"force":""}]`],
    [['pull', 'web', 'reg.example/a:1', '--kernel', 'img'], 2, 'Say what to do with which image'],
    [['pull', '--network', 'web', 'reg.example/a:1'], 2, '--network means nothing to image pull.'],
    [['build', '--kernel', 'img', 'web'], 2, '--kernel means nothing to image build.'],
    [['pull', 'web', 'debian:12'], 1, 'does not begin with the name of a registry'],
  ])('%j', async (words, code, said) => {
    const done = await image(words);
    expect([done.code, done.stdout + done.stderr]).toEqual([code, expect.stringContaining(said)]);
  });
});

describe('muster image', { timeout: 300_000 }, () => {
  it('builds and packs; with --if-changed only what has changed', async () => {
    expect(await image(['build', 'img'])).toMatchObject({ code: 0 });
    const [first] = await packs();
    const again = await image(['build', 'img', '--if-changed']);
    expect([again.code, again.stdout]).toEqual([
      0,
      expect.stringContaining(`Nothing has changed since the pack ${first!.id}`),
    ]);
    execFileSync('cp', ['/bin/busybox', inTree('usr/bin/busybox')]);
  });

  it('exec runs a program whose options are its own, and says how it ended', async () => {
    const env = { MUSTER_PROGRESS_SECONDS: '1' };
    const { code, stdout, stderr } = await image(
      ['exec', 'img', '/usr/bin/busybox', 'sh', '-c', 'echo said; sleep 3'],
      { env },
    );
    expect([code, stdout]).toEqual([0, expect.stringContaining('said\n')]);
    // Whoever reads a log sees that it goes on.
    expect(stderr).toMatch(/^image: at work for \d+ s.*\(said\)$/m);
    const failed = await image(['exec', 'img', '/usr/bin/busybox', 'sh', '-c', 'echo x > /etc/lost; exit 3']);
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('ended with exit code 3')]);
    expect(existsSync(inTree('etc/lost'))).toBe(false);
  });

  it('shell does each line, and ends as the last did', async () => {
    const input =
      '/usr/bin/busybox touch /etc/one\n\n/usr/bin/busybox false\n/usr/bin/busybox touch /etc/two\nexit\nnever\n';
    execFileSync('ln', ['-sf', 'busybox', inTree('usr/bin/sh')]);
    if (!existsSync(inTree('bin'))) execFileSync('ln', ['-s', 'usr/bin', inTree('bin')]);
    const { code } = await image(['shell', 'img'], { input });
    expect(code).toBe(0);
    expect([existsSync(inTree('etc/one')), existsSync(inTree('etc/two'))]).toEqual([true, true]);
  });

  it('tags packs and puts them back by tag or in their order', async () => {
    const [first] = await packs();
    expect((await image(['tag', 'img', 'works'])).stdout).toContain(`The pack ${first!.id} of`);
    expect(await image(['build', 'img'])).toMatchObject({ code: 0 });
    const current = async () => (await server.ok('GET', '/osimages/img/instance')).current;
    expect(await current()).not.toBe(first!.id);
    expect(await image(['rollback', 'img', 'works'])).toMatchObject({ code: 0 });
    expect(await current()).toBe(first!.id);
    expect((await packs()).find(({ id }) => id === first!.id)!.tags).toEqual(['works']);
    expect(await image(['untag', 'img', 'works'])).toMatchObject({ code: 0 });
    const gone = await image(['rollback', 'img', 'works']);
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('has no pack works')]);
  });

  it.each([
    [['bogus', 'img'], 'Say what to do with which image'],
    [['exec', 'img'], 'Say what to do with which image'],
    [['build', 'img', '--network'], '--network means nothing to image build'],
    [['build', 'img', '--detach'], 'is more than one run and cannot be left'],
  ])('refuses %j', async (words, sentence) => {
    const { code, stderr } = await image(words);
    expect([code, stderr]).toEqual([2, expect.stringContaining(sentence)]);
  });
});
