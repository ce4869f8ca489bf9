import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyPassword } from '../../src/access/crypt.ts';
import { shippedImageFiles } from '../../src/core/home.ts';
import { temporaryDirectory } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { type BootLab, startBootLab } from './boot-client.ts';

const [n1, n2, n4, stranger] = ['127.0.0.11', '127.0.0.12', '127.0.0.14', '127.0.0.99'];
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

const hasChanged = `What the installer of the image ${image} gets has changed since the node was set to it`;

it('whatever says otherwise than at nodeset which disk is overwritten stops loader and installer', async () => {
  const { server } = lab;
  const included = file('custom/part2', 'd-i partman-auto/disk string /dev/sda\n');
  const parts = file('custom/parts', `#INCLUDE:${included}#\n# Disk #TABLEBLANKOKAY:nodepos:$NODE:comments#\n`);
  const own = readFileSync(join(shippedImageFiles, 'debian/install/compute.debian.tmpl'), 'utf8');
  const template = file('custom/own.tmpl', own);
  const usual = join(lab.install, 'debian12/x86_64');
  file(`${installer.replace('debian12', 'other12')}/linux`, 'kernel');
  file(`${installer.replace('debian12', 'other12')}/initrd.gz`, 'initrd');
  await server.ok('PUT', `/osimages/${image}`, { partitionfile: `c:${parts}`, template });
  const changes = [
    () => file('custom/part2', 'd-i partman-auto/disk string /dev/sdb\n'),
    () => server.ok('PUT', '/tables/nodepos/rows/node=n1', { comments: 'sdb' }),
    () => file('custom/own.tmpl', `${own}\nd-i partman-auto/disk string /dev/sdb\n`),
    () => server.ok('PUT', `/osimages/${image}`, { pkgdir: join(lab.install, 'other12/x86_64') }),
  ];
  for (const change of changes) {
    await server.ok('PUT', '/nodes/n1/bootstate', { osimage: image });
    const path = await answerPath();
    expect((await lab.from(n1, path)).status).toBe(200);
    await change();
    expect((await lab.from(n1, path)).status, String(change)).toBe(403);
    expect((await script(n1)).text, String(change)).toContain(hasChanged);
  }
  await server.ok('PUT', `/osimages/${image}`, { partitionfile: '', template: '', pkgdir: usual });
  await server.ok('PUT', '/nodes/n1/bootstate', { osimage: image });
});

it('values that nodeset itself sets, and those that have nothing to do with disks, stop no installation', async () => {
  const { server } = lab;
  const own = readFileSync(join(shippedImageFiles, 'debian/install/compute.debian.tmpl'), 'utf8');
  const named =
    'd-i muster/note string #TABLE:nodetype:$NODE:os# #TABLE:chain:$NODE:currstate# #TABLEBLANKOKAY:nodelist:$NODE:status#\n';
  const template = file('custom/named.tmpl', `${named}${own}`);
  await server.ok('PUT', `/osimages/${image}`, { template });
  await server.ok('PUT', '/nodes/n4', {
    groups: 'all',
    netboot: 'xnba',
    arch: 'x86_64',
    mac: '52:54:00:00:00:04',
    ip: n4,
  });
  await server.ok('PUT', '/nodes/n4/bootstate', { osimage: image });
  await server.ok('PUT', '/tables/site/rows/key=timezone', { value: 'Europe/Vienna' });
  const { text } = await lab.from(n4, '/boot/52-54-00-00-00-04.ipxe');
  expect(text).toContain('/boot/answer/n4/');
  await server.ok('PUT', `/osimages/${image}`, { template: '' });
});

it('a partitionfile that says otherwise than at nodeset is refused to loader and installer', async () => {
  const { server } = lab;
  const path = await answerPath();
  const partitionfile = file('custom/parts', 'd-i partman-auto/method string lvm\n');
  await server.ok('PUT', `/osimages/${image}`, { partitionfile: `c:${partitionfile}` });
  expect((await script(n1)).text).toContain(hasChanged);
  expect((await lab.from(n1, path)).status).toBe(403);
  await server.ok('PUT', '/nodes/n1/bootstate', { osimage: image });
  const again = await answerPath();
  expect((await lab.from(n1, again)).status).toBe(200);
  file('custom/parts', 'd-i partman-auto/method string raid\n');
  expect((await lab.from(n1, again)).status).toBe(403);
  await server.ok('PUT', `/osimages/${image}`, { partitionfile: '' });
  await server.ok('PUT', '/nodes/n1/bootstate', { osimage: image });
});

it('an installation whose disk is written ends well, though osvolume names another disk by now', async () => {
  const path = await answerPath();
  await lab.server.ok('PUT', '/nodes/n1', { osvolume: '/dev/sdz' });
  expect((await lab.from(n1, path)).status).toBe(403);
  for (const name of ['installed.sh', 'finish.sh'])
    expect((await lab.from(n1, path.replace('preseed.cfg', name))).status).toBe(200);
  await lab.server.ok('PUT', '/nodes/n1', { osvolume: '' });
});

it.each(['enact', 'ondiscover=runcmd:bmcsetup'])('nodeset %s lets an installation that runs go on', async (state) => {
  const path = await answerPath();
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { state });
  expect((await lab.from(n1, path)).status).toBe(200);
  const report = path.replace('/answer/', '/report/').replace('/preseed.cfg', '');
  expect((await lab.from(n1, report, { method: 'POST', body: 'installing' })).status).toBe(204);
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

describe('the first boot of what was installed', () => {
  let directory: string;
  let firstBoot: string;
  async function setUp(): Promise<void> {
    await lab.server.ok('PUT', '/nodes/n3/bootstate', { osimage: image });
    const { text: loader } = await lab.from('127.0.0.1', '/boot/52-54-00-00-00-03.ipxe');
    const [, path = ''] = /(\/boot\/answer\/n3\/[\w-]+\/)preseed/.exec(loader) ?? [];
    const { text: installed } = await lab.from('127.0.0.1', `${path}installed.sh`);
    [, firstBoot = ''] = /<<'SCRIPT'\n(.*)\nSCRIPT\n/s.exec(installed) ?? [];
    rmSync(join(directory, 'said'), { force: true });
  }
  beforeAll(async () => {
    directory = temporaryDirectory();
    mkdirSync(join(directory, 'bin'));
    for (const name of readdirSync('/usr/bin'))
      if (name !== 'curl') symlinkSync(join('/usr/bin', name), join(directory, 'bin', name));
    await setUp();
    mkdirSync(join(lab.server.data, 'postscripts'), { recursive: true });
    writeFileSync(join(lab.server.data, 'postscripts/hello'), `#!/bin/sh\necho "$NODE $1" >>${directory}/said\n`);
    await lab.server.ok('PUT', '/nodes/n3', { postscripts: 'hello world' });
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  /** How the way to muster answers the next requests; then it lets them through. */
  type Answer = 'pass' | 'gateway' | 'cut';

  /** There is no systemd here, this machine is not the one that was installed, and nobody waits. */
  async function boot(answers: Answer[], program: 'curl' | 'wget', last: Answer = 'pass'): Promise<number> {
    for (const name of ['systemctl', 'sleep']) writeFileSync(join(directory, name), '');
    const way = createServer((request, response) => {
      const answer = answers.shift() ?? last;
      if (answer === 'gateway') response.writeHead(502).end();
      else if (answer === 'cut')
        response.writeHead(200, { 'Content-Length': 1_000 }).write('#!/bin/sh\n', () => response.destroy());
      else
        void textOf(request)
          .then((body) => lab.from('127.0.0.1', request.url!, { method: request.method!, body }))
          .then((reply) => response.writeHead(reply.status).end(reply.body));
    });
    await new Promise<void>((resolve) => way.listen(0, '127.0.0.1', resolve));
    const moved = firstBoot
      .replaceAll(/http:\/\/[^/]+/g, `http://127.0.0.1:${(way.address() as AddressInfo).port}`)
      .replaceAll(/(?<!\$)\/(usr|etc|var)\//g, `${directory}/$1/`)
      .replace('  sh "$work', `  sed -i 's|/xcatpost|${directory}/xcatpost|g' "$work/first-boot.sh"; sh "$work`);
    const commands = [
      `systemctl() { echo "$*" >>${directory}/systemctl; }`,
      `sleep() { echo "$*" >>${directory}/sleep; }`,
      `mkdir -p ${directory}/var/log`,
      moved,
    ];
    const env = { PATH: program === 'curl' ? process.env['PATH'] : join(directory, 'bin') };
    const ended = await promisify(execFile)('/bin/sh', ['-c', commands.join('\n')], { env }).catch(
      (error: { code: number }) => error,
    );
    way.closeAllConnections();
    way.close();
    return 'code' in ended ? ended.code : 0;
  }
  const lines = (name: string): string[] => readFileSync(join(directory, name), 'utf8').split('\n').slice(0, -1);

  it('stays for the next boot if muster cannot be reached', async () => {
    expect(await boot([], 'curl', 'gateway')).toBe(1);
    expect([lines('sleep').length, lines('systemctl')]).toEqual([29, []]);
  });

  it('stays for the next boot if its scripts do not arrive', async () => {
    expect(await boot(['pass'], 'curl', 'cut')).toBe(1);
    expect([lines('sleep').length, lines('systemctl')]).toEqual([29, []]);
  });

  it.each(['curl', 'wget'] as const)(
    'waits for a network that comes late, runs once, and says that it is done, with %s',
    async (program) => {
      await setUp();
      expect(await boot(['gateway', 'cut', 'pass', 'cut', 'gateway'], program)).toBe(0);
      expect([lines('sleep').length, lines('systemctl')]).toEqual([4, ['disable muster-first-boot.service']]);
      const { n3 } = await lab.server.ok('GET', '/nodes/n3/boot');
      const steps = (n3.steps as string[]).map((line) => line.split(' ').slice(1, 3).join(' '));
      expect(steps.filter((line) => line.startsWith('report ')).slice(-3)).toEqual([
        'report booting',
        'report postscripts',
        'report booted',
      ]);
      expect(lines('said')).toEqual(['n3 world']);
      // Now it is refused, and does not wait for that.
      expect(await boot([], program)).toBe(0);
      expect([lines('sleep'), lines('systemctl')]).toEqual([[], ['disable muster-first-boot.service']]);
      expect(lines('said')).toEqual(['n3 world']);
    },
  );
});

it('an account for some nodes sees no values of others, and no template that its mode keeps from users', async () => {
  const { server } = lab;
  await server.ok('PUT', '/nodes/n5', { groups: 'all', netboot: 'xnba', arch: 'x86_64', mac: '52:54:00:00:00:05' });
  await server.ok('PUT', '/nodes/n5/bootstate', { osimage: image });
  const named = ['node=n1', 'ip=127.0.0.11', 'node=n5'].map((key) => `#TABLEBLANKOKAY:hosts:${key}:ip#`);
  const template = file('custom/others.tmpl', `d-i muster/note string ${named.join(' ')}\n`);
  await server.ok('PUT', `/osimages/${image}`, { template });
  const token = await addUser(server, 'some');
  await server.ok('POST', '/policy/7', { name: 'some', commands: 'lsanswers', noderange: 'n5', rule: 'allow' });
  const shown = async (who?: string) =>
    server.call('GET', '/nodes/n5/answers', who === undefined ? {} : { token: who });
  expect((await shown()).json.n5['preseed.cfg']).toContain('d-i muster/note string 127.0.0.11 127.0.0.11');
  expect((await shown(token)).json.n5['preseed.cfg']).toContain('d-i muster/note string xxxxxxxx xxxxxxxx');
  chmodSync(template, 0o600);
  expect((await shown()).status).toBe(200);
  const barred = await shown(token);
  expect([barred.status, barred.text]).toEqual([403, expect.stringContaining('Not every user of the management node')]);
  await server.ok('PUT', `/osimages/${image}`, { template: '' });
});

it('administrators see what a node would get, without its token and password', async () => {
  const { n1: shown } = await lab.server.ok('GET', '/nodes/n1/answers');
  expect(Object.keys(shown).sort()).toEqual(['disk.sh', 'finish.sh', 'installed.sh', 'preseed.cfg']);
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
