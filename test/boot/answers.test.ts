import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyPassword } from '../../src/access/crypt.ts';
import { shippedImageFiles } from '../../src/core/home.ts';
import { temporaryDirectory } from '../harness/server.ts';
import { type BootLab, startBootLab } from './boot-client.ts';

const [n1, n2, stranger] = ['127.0.0.11', '127.0.0.12', '127.0.0.99'];
const image = 'debian12-x86_64-install-compute';
const installer = 'debian12/x86_64/install/netboot/debian-installer/amd64';
let lab: BootLab;

const file = (path: string, text: string): string => {
  const full = join(lab.install, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, text);
  return full;
};

beforeAll(async () => {
  lab = await startBootLab();
  const { server } = lab;
  const attributes = { groups: 'all', netboot: 'xnba', arch: 'x86_64' };
  await server.ok('PUT', '/nodes', {
    n1: { ...attributes, mac: '52:54:00:00:00:01', ip: n1 },
    n2: { ...attributes, mac: '52:54:00:00:00:02', ip: n2 },
    // What this machine's own programs come from.
    n3: { ...attributes, mac: '52:54:00:00:00:03', ip: '127.0.0.1' },
  });
  await server.ok('PUT', '/tables/passwd/rows/key=system,username=root', { password: 'open sesame' });
  file(`${installer}/linux`, 'kernel');
  file(`${installer}/initrd.gz`, 'initrd');
  file('debian12/x86_64/pool/package', 'package');
  file('secret', 'secret');
  await server.ok('POST', `/osimages/${image}`, {
    imagetype: 'linux',
    osname: 'Linux',
    osvers: 'debian12',
    osarch: 'x86_64',
    profile: 'compute',
    provmethod: 'install',
    pkgdir: join(lab.install, 'debian12/x86_64'),
    pkglist: join(shippedImageFiles, 'debian/install/compute.debian.pkglist'),
  });
});
afterAll(() => lab.stop());

const script = (address: string) => lab.from(address, '/boot/52-54-00-00-00-01.ipxe');
const answerPath = async (): Promise<string> => {
  const { text } = await script(n1);
  const path = / url=http:\/\/[^/]+(\/boot\/answer\/n1\/[\w-]+\/preseed\.cfg) /.exec(text)?.[1];
  expect(path, text).toBeDefined();
  return path!;
};

it('a node that is installed is told where installer and answers are, and gets them', async () => {
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: image });
  const { text } = await script(n1);
  const base = `http://127.0.0.1:${lab.port}`;
  expect(text).toContain(`${base}/boot/install/${installer}/linux `);
  expect(text).toContain(`${base}/boot/install/${installer}/initrd.gz`);
  expect((await lab.from(n1, `/boot/install/${installer}/linux`)).text).toBe('kernel');
  expect((await lab.from(n1, '/boot/install/debian12/x86_64/pool/package')).text).toBe('package');
  const answers = await lab.from(n1, await answerPath());
  expect(answers.status).toBe(200);
  expect(answers.text).toContain(`d-i mirror/http/hostname string 127.0.0.1:${lab.port}\n`);
  const [, hash = ''] = /root-password-crypted password (\S+)/.exec(answers.text) ?? [];
  expect(hash).toMatch(/^\$6\$/);
  expect(await verifyPassword('open sesame', hash)).toBe(true);
  expect(answers.text).not.toContain('open sesame');
  await lab.server.ok('PUT', '/tables/passwd/rows/key=system,username=root', { cryptmethod: 'sha256' });
  expect((await lab.from(n1, await answerPath())).text).toMatch(/root-password-crypted password \$5\$/);
});

it('the answers of a node are for nobody else', async () => {
  const path = await answerPath();
  for (const address of [n2, stranger]) expect((await lab.from(address, path)).status).toBe(403);
  expect((await lab.from(n1, path.replace('/n1/', '/n2/'))).status).toBe(403);
  expect((await lab.from(n1, path.replace(/\/[\w-]+\/preseed/, '/AAAAAAAAAAAAAAAAAAAAAA/preseed'))).status).toBe(403);
  expect((await lab.from(n1, path.replace('preseed.cfg', 'ks.cfg'))).status).toBe(404);
  expect((await lab.from(n1, path.replace('preseed.cfg', '..'))).status).toBe(404);
  // Another machine is not told the way there either.
  expect((await script(n2)).text).not.toContain('/boot/answer/');
  expect((await lab.from(n1, '/boot/install/secret')).status).toBe(404);
});

it('the installer tells how far it is by the URLs that stand in its answers', async () => {
  const path = await answerPath();
  const { text } = await lab.from(n1, path);
  const [, report = ''] = /--post-data=installing http:\/\/[^/]+(\S+)/.exec(text) ?? [];
  const tell = async (body: string) => (await lab.from(n1, report, { method: 'POST', body })).status;
  const attribute = async (name: string): Promise<string> => {
    const { n1: found } = await lab.server.ok('GET', `/nodes/n1/attrs/${name}`);
    return found[name];
  };
  expect(await tell('installing')).toBe(204);
  await expect.poll(() => attribute('status')).toBe('installing');
  // The system that was installed still gets what it runs at its end.
  expect((await lab.from(n1, path.replace('preseed.cfg', 'installed.sh'))).text).toMatch(/^#!\/bin\/sh\n/);
  expect(await tell('installed')).toBe(204);
  await expect.poll(() => attribute('currstate')).toBe('boot');
  expect(await tell('booted')).toBe(204);
  await expect.poll(() => attribute('status')).toBe('booted');
  expect((await lab.from(n1, path)).status).toBe(403);
});

it('the first boot of what was installed runs once, and says that it is done', async () => {
  await lab.server.ok('PUT', '/nodes/n3/bootstate', { osimage: image });
  const { text } = await lab.from('127.0.0.1', '/boot/52-54-00-00-00-03.ipxe');
  const [, path = ''] = /(\/boot\/answer\/n3\/[\w-]+\/)preseed/.exec(text) ?? [];
  const { text: installed } = await lab.from('127.0.0.1', `${path}installed.sh`);
  const [, first = ''] = /<<'SCRIPT'\n(.*)\nSCRIPT\n/s.exec(installed) ?? [];
  const directory = temporaryDirectory();
  mkdirSync(join(lab.server.data, 'postscripts'), { recursive: true });
  writeFileSync(join(lab.server.data, 'postscripts/hello'), `#!/bin/sh\necho "$NODE $1" >${directory}/said\n`);
  await lab.server.ok('PUT', '/nodes/n3', { postscripts: 'hello world' });
  // There is no systemd here, and this machine is not the one that was installed.
  const moved = [
    `systemctl() { echo "$*" >>${directory}/systemctl; }`,
    `mkdir -p ${directory}/var/log`,
    first
      .replaceAll(/\/(usr|etc|var)\//g, `${directory}/$1/`)
      .replace('  sh "$work', `  sed -i 's|/xcatpost|${directory}/xcatpost|g' "$work/first-boot.sh"; sh "$work`),
  ].join('\n');
  execFileSync('sh', ['-c', moved]);
  expect(readFileSync(join(directory, 'systemctl'), 'utf8')).toBe('disable muster-first-boot.service\n');
  const { n3 } = await lab.server.ok('GET', '/nodes/n3/boot');
  const steps = (n3.steps as string[]).map((line) => line.split(' ').slice(1, 3).join(' '));
  expect(steps.filter((line) => line.startsWith('report '))).toEqual([
    'report booting',
    'report postscripts',
    'report booted',
  ]);
  expect(readFileSync(join(directory, 'said'), 'utf8')).toBe('n3 world\n');
  rmSync(directory, { recursive: true });
});

it('administrators see what a node would get, without its token and password', async () => {
  const { n1: shown } = await lab.server.ok('GET', '/nodes/n1/answers');
  expect(Object.keys(shown).sort()).toEqual(['installed.sh', 'preseed.cfg']);
  expect(shown['preseed.cfg']).toContain('root-password-crypted password xxxxxxxx\n');
  expect(shown['preseed.cfg']).toContain('/boot/report/n1/xxxxxxxx ');
  const { text, status } = await lab.server.call('GET', '/nodes/n2/answers');
  expect(status).toBe(403);
  expect(text).toContain('provmethod of the node names no image');
});

it('a template that cannot be used is told where the node boots, and to whoever asks', async () => {
  const { server } = lab;
  const template = file('custom/own.tmpl', 'd-i a/b string #COMMAND:id#\n');
  await server.ok('PUT', `/osimages/${image}`, { template });
  await server.ok('PUT', '/nodes/n1/bootstate', { osimage: image });
  const { text } = await script(n1);
  expect(text).toContain('would run a command on the management node');
  expect(text).not.toContain('kernel ');
  const { n1: boot } = await server.ok('GET', '/nodes/n1/boot');
  expect(boot.why).toContain('would run a command');
  const { text: reason } = await server.call('GET', '/nodes/n1/answers');
  expect(reason).toContain('own.tmpl, line 1');
});
