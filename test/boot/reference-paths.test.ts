import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../harness/server.ts';
import { type BootLab, startBootLab, tftpPortOf } from './boot-client.ts';
import { definePacked, type Parts } from './packed-image.ts';

const run = promisify(execFile);
const parts: Parts = { root: randomBytes(70_000), kernel: randomBytes(50_001), initrd: randomBytes(6_000) };
const addresses = { x: '127.0.0.21', g: '127.0.0.22', p: '127.0.0.23', l: '127.0.0.24' };
const loaders = temporaryDirectory();
let lab: BootLab;
let tftpPort: number;
let pack: string;
beforeAll(async () => {
  writeFileSync(join(loaders, 'grubx64.efi'), 'a loader of the site');
  mkdirSync(join(loaders, 'ramdisk/x86_64'), { recursive: true });
  for (const name of ['kernel', 'initrd']) writeFileSync(join(loaders, 'ramdisk/x86_64', name), `ramdisk ${name}`);
  lab = await startBootLab({ MUSTER_BOOT_TFTP_LISTEN: '127.0.0.1:0', MUSTER_BOOT_DIRECTORY: loaders });
  tftpPort = await tftpPortOf(lab.server);
  const node = (netboot: string, ip: string, last: string) => ({
    groups: 'all',
    arch: 'x86_64',
    netboot,
    ip,
    mac: `52:54:00:00:00:${last}`,
  });
  await lab.server.ok('PUT', '/nodes', {
    x: node('xnba', addresses.x, '21'),
    g: node('grub2', addresses.g, '22'),
    p: node('petitboot', addresses.p, '23'),
    l: node('pxe', addresses.l, '24'),
  });
  pack = await definePacked(lab, 'deb', parts);
  await lab.server.ok('PUT', '/nodes/all/bootstate', { osimage: 'deb' });
});
afterAll(() => lab.stop());

const byHttp = async (path: string, from: string = addresses.x): Promise<string | undefined> => {
  const { status, text } = await lab.from(from, `/${path}`);
  return status === 200 ? text : undefined;
};

async function byTftp(name: string): Promise<Buffer> {
  const to = join(lab.install, `fetched-${Math.random()}`);
  await run('busybox', ['tftp', '-g', '-b', '1400', '-r', name, '-l', to, '127.0.0.1', String(tftpPort)]);
  return readFileSync(to);
}

const first = async (path: string) => (await byHttp(path))?.split('\n')[0];

it('files of the reference system answer under its paths, each for the method of its node', async () => {
  const state = '#netboot debian12-x86_64-compute';
  expect(await first('tftpboot/xcat/xnba/nodes/x')).toBe('#!gpxe');
  expect(await first('tftpboot/xcat/xnba/nodes/x.uefi')).toBe('#!gpxe');
  for (const path of ['boot/grub2/g', 'boot/grub2/grub.cfg-7F000016', 'boot/grub2/grub.cfg-01-52-54-00-00-00-22'])
    expect([path, await first(`tftpboot/${path}`)]).toEqual([path, state]);
  for (const path of ['petitboot/p', '7F000017']) expect(await first(path)).toBe(state);
  for (const path of ['pxelinux.cfg/l', 'pxelinux.cfg/7F000018', 'pxelinux.cfg/01-52-54-00-00-00-24'])
    expect([path, await first(path)]).toEqual([path, state]);
  for (const path of ['xcat/xnba/nodes/g', 'boot/grub2/x', 'petitboot/x', '7F000015', 'pxelinux.cfg/nosuch'])
    expect([path, await first(path)]).toEqual([path, undefined]);
});

it('what they name is there, by HTTP below /tftpboot and by TFTP', async () => {
  const xnba = (await byHttp('tftpboot/xcat/xnba/nodes/x'))!;
  const [, path] = /imgfetch -n kernel http:\/\/\$\{next-server\}:\d+(\/tftpboot\/\S+)/.exec(xnba)!;
  expect((await lab.from(addresses.x, path!)).body.equals(parts.kernel)).toBe(true);
  const grub = (await byHttp('boot/grub2/g'))!;
  const [, kernel] = /linuxefi \/(\S+)/.exec(grub)!;
  expect(kernel).toBe(`boot/images/deb/${pack}/kernel`);
});

it('a node has no files while it is offline', async () => {
  await lab.server.ok('PUT', '/nodes/x/bootstate', { state: 'offline' });
  expect(await byHttp('xcat/xnba/nodes/x')).toBeUndefined();
  await lab.server.ok('PUT', '/nodes/x/bootstate', { state: 'boot' });
  expect(await byHttp('xcat/xnba/nodes/x')).toBe('#!gpxe\n#boot\nexit\n');
});

it.each(['shell', 'standby', 'shutdown', 'runcmd=bmcsetup', 'runimage=http://10.0.0.1/x.tgz'])(
  'the state %s boots the ramdisk with it as its destiny',
  async (state) => {
    await lab.server.ok('PUT', '/nodes/x/bootstate', { state });
    const text = (await byHttp('boot/52-54-00-00-00-21.ipxe'))!;
    expect(text).toContain(` xcatd=127.0.0.1:3001 destiny=${state} muster.discovery=`);
    const [, path] = /kernel --name kernel http:\/\/[^/]+\/(\S+)/.exec(text)!;
    expect(await byHttp(path!, '127.0.0.250')).toBe('ramdisk kernel');
    expect(await byHttp('tftpboot/xcat/genesis.fs.x86_64.gz')).toBe('ramdisk initrd');
  },
);

it('a command with everything that loaders and shells read as their own is one plain word of the boot line', async () => {
  const command = `a "b" 'c' | d; { $e && *; } > \\f % #g`;
  await lab.server.ok('PUT', '/nodes/x/bootstate', { state: `runcmd=${command}` });
  for (const ending of ['ipxe', 'grub']) {
    const text = (await byHttp(`boot/52-54-00-00-00-21.${ending}`))!;
    expect(decodeURIComponent(/ destiny=runcmd=([A-Za-z0-9%]+) /.exec(text)![1]!)).toBe(command);
    expect(text).toContain('\n#runcmd=a ?b? ?c? ? d? ? ?e ?? ?? ? ? ?f ? ?g\n'.slice(ending === 'grub' ? 1 : 0));
  }
});

describe('GRUB', () => {
  it('is led to the script of its card, by the protocol it came by', async () => {
    expect(await byHttp('grub/grub.cfg')).toBe(
      `set timeout=0\nconfigfile (http,127.0.0.1:${lab.port})/boot/$net_default_mac.grub\n`,
    );
    expect((await byTftp('/grub/grub.cfg')).toString()).toContain('configfile (tftp,127.0.0.1)/boot/');
    const text = (await byTftp('boot/52:54:00:00:00:22.grub')).toString();
    expect(text).toContain(
      `linux (tftp,127.0.0.1)/boot/images/deb/${pack}/kernel imgurl=http://127.0.0.1:${lab.port}/`,
    );
    expect(text).toMatch(/ BOOTIF=01-52-54-00-00-00-22\n/);
  });

  it('loads what is signed from the packages, or what the site has', async () => {
    expect(await byHttp('grubx64.efi')).toBe('a loader of the site');
    expect(await byHttp('boot/grub2/grub2-g')).toBe('a loader of the site');
    expect(await byHttp('boot/loaders/grubx64.efi')).toBe('a loader of the site');
  });
});

describe('by TFTP', () => {
  it.each([
    ['busybox', (name: string, to: string) => ['busybox', 'tftp', '-g', '-r', name, '-l', to, '127.0.0.1']],
    ['atftp', (name: string, to: string) => ['atftp', '-g', '-r', name, '-l', to, '127.0.0.1']],
    ['tftp-hpa', (name: string, to: string) => ['tftp', '-m', 'binary', '127.0.0.1', '-c', 'get', name, to]],
  ])('%s fetches a loader', async (kind, command) => {
    const to = join(lab.install, `loader-${kind}`);
    const [program, ...args] = command('grubx64.efi', to);
    const port = String(tftpPort);
    const all = kind === 'tftp-hpa' ? [...args.slice(0, 3), port, ...args.slice(3)] : [...args, port];
    await run(program!, all);
    expect(readFileSync(to, 'utf8')).toBe('a loader of the site');
  });

  it('an image is for nodes, and there is no way out', async () => {
    for (const name of [
      `boot/images/deb/${pack}/kernel`,
      '../etc/passwd',
      '/etc/passwd',
      'boot/../../etc/passwd',
      '..\\x',
    ])
      await expect(byTftp(name)).rejects.toThrow(/server error/);
  });
});
