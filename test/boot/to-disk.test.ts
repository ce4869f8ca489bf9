import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BootLab, startBootLab } from './boot-client.ts';
import { definePacked, type Parts, writePack } from './packed-image.ts';

const address = '127.0.0.31';
const script = '/boot/52-54-00-00-00-31.ipxe';
const parts = (text: string): Parts => ({
  root: Buffer.from(`${text} root`),
  kernel: Buffer.from('k'),
  initrd: Buffer.from('i'),
});
let lab: BootLab;
beforeAll(async () => {
  lab = await startBootLab();
  const { server } = lab;
  const node = { groups: 'all', netboot: 'xnba', arch: 'x86_64', mac: '52:54:00:00:00:31', ip: address };
  await server.ok('PUT', '/nodes', { n1: { ...node, osvolume: 'serial=S1', addkcmdline: 'debug R::keep=1 R::more' } });
  await definePacked(lab, 'deb', parts('deb'));
  await server.ok('PUT', '/osimages/deb', { provmethod: 'sysclone' });
  await server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
});
afterAll(() => lab.stop());

const state = async (): Promise<string> => (await lab.server.ok('GET', '/nodes/n1/bootstate')).n1.bootstat;
const status = async (): Promise<string> => (await lab.server.ok('GET', '/nodes/n1/attrs/status')).n1.status;

it('a node whose image goes to its disk is told which one, and keeps its token until it is up from there', async () => {
  expect(await state()).toBe('sysclone debian12-x86_64-compute');
  const { text } = await lab.from(address, script);
  expect(text).toContain(' muster.root=disk muster.disk=serial=S1 muster.kernel=keep=1%20more ');
  await expect.poll(status).toBe('installing');
  const path = /muster\.report=http:\/\/[^/]+(\S+)/.exec(text)![1]!;
  const report = (body: string) => lab.from(address, path, { method: 'POST', body });
  expect((await report('written /dev/sda\n')).status).toBe(204);
  expect(await state()).toBe('boot');
  expect((await lab.from(address, script)).text).not.toContain('muster.report');
  expect((await report('booted\n')).status).toBe(204);
  await expect.poll(status).toBe('booted');
});

it('a node that has its system on its disk is not installed again, whatever is wrong with what was to follow', async () => {
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { state: 'osimage=deb,osimage=nosuch', force: true });
  const { text } = await lab.from(address, script);
  const path = /muster\.report=http:\/\/[^/]+(\S+)/.exec(text)![1]!;
  expect((await lab.from(address, path, { method: 'POST', body: 'written /dev/sda\n' })).status).toBe(204);
  expect(await state()).toBe('boot');
});

it('a disk that cannot be named is told on the machine’s screen', async () => {
  await lab.server.ok('PUT', '/nodes/n1', { osvolume: 'usbdisk' });
  const { status: refused, json } = await lab.server.call('PUT', '/nodes/n1/bootstate', { body: { osimage: 'deb' } });
  expect([refused, json.error[0]]).toEqual([403, expect.stringContaining('osvolume "usbdisk" names no disk')]);
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb', force: true });
  expect((await lab.from(address, script)).text).toContain(
    'echo muster: n1: The attribute osvolume "usbdisk" names no disk',
  );
});

describe('a definition that changes after nodeset', () => {
  const attributes = { groups: 'all', netboot: 'xnba', arch: 'x86_64', mac: '52:54:00:00:00:07', ip: '127.0.0.17' };
  const ownScript = async (): Promise<string> => (await lab.from('127.0.0.17', '/boot/52-54-00-00-00-07.ipxe')).text;
  const set = (osimage: string) => lab.server.ok('PUT', '/nodes/n7/bootstate', { osimage });
  beforeAll(async () => {
    await lab.server.ok('PUT', '/nodes', { n7: attributes });
    await definePacked(lab, 'other', parts('other'));
  });

  it('never makes an image that was to run in memory go to the disk', async () => {
    const { server } = lab;
    await server.ok('PUT', '/osimages/deb', { provmethod: 'netboot' });
    await set('deb');
    expect(await ownScript()).toContain('imgurl=');
    await server.ok('PUT', '/osimages/deb', { provmethod: 'sysclone' });
    const refused = await ownScript();
    expect(refused).not.toContain('muster.root=disk');
    expect(refused).toContain(
      'The node was set to netboot debian12-x86_64-compute, but its image deb is sysclone debian12-x86_64-compute now.',
    );
    expect(refused).toContain('run nodeset n7 osimage=deb.');
    expect((await server.ok('GET', '/nodes/n7/boot')).n7.why).toContain('but its image deb is sysclone');
    await set('deb');
    expect(await ownScript()).toContain('muster.root=disk');
  });

  it('is refused if another system would go to the disk', async () => {
    await lab.server.ok('PUT', '/osimages/deb', { osvers: 'debian13' });
    expect(await ownScript()).toContain('but its image deb is sysclone debian13-x86_64-compute now');
    await lab.server.ok('PUT', '/osimages/deb', { osvers: 'debian12' });
    expect(await ownScript()).toContain('muster.root=disk');
  });

  it('is refused if another disk would be overwritten', async () => {
    await lab.server.ok('PUT', '/nodes/n7', { osvolume: '/dev/sdb' });
    expect(await ownScript()).toContain(
      'The node was set to overwrite the disk localdisk, but its osvolume is /dev/sdb now.',
    );
    await set('deb');
    expect(await ownScript()).toContain('muster.disk=/dev/sdb');
  });

  it('is refused if it changes what stands later in a list', async () => {
    const { server } = lab;
    await server.ok('PUT', '/nodes/n7/bootstate', { state: 'osimage=deb,osimage=deb,shell' });
    const [{ pack }] = (await server.ok('GET', '/tables/bootchoice/rows/node=n7')).bootchoice;
    const path = /muster\.report=http:\/\/[^/]+(\S+)/.exec(await ownScript())![1]!;
    await server.ok('PUT', '/nodes/n7', { osvolume: '/dev/sdc' });
    await lab.from('127.0.0.17', path, { method: 'POST', body: 'written /dev/sdb\n' });
    expect((await server.ok('GET', '/tables/bootchoice/rows/node=n7')).bootchoice[0]).toMatchObject({
      disk: '/dev/sdb',
      pack,
    });
    expect(await ownScript()).toContain(
      'The node was set to overwrite the disk /dev/sdb, but its osvolume is /dev/sdc now.',
    );
    await server.ok('PUT', '/nodes/n7', { osvolume: '/dev/sdb' });
    expect(await ownScript()).toContain('muster.disk=/dev/sdb');
  });

  it('is refused if words that it adds for the kernel would undo the decision', async () => {
    const { server } = lab;
    const addkcmdline = 'quiet muster.root=disk muster.disk=/dev/sda';
    const reason = 'The attribute addkcmdline of the node n7 has the word "muster.root=disk"';
    await set('other');
    expect(await ownScript()).toContain('imgurl=');
    await server.ok('PUT', '/nodes/n7', { addkcmdline });
    expect(await ownScript()).not.toContain('imgurl=');
    expect((await server.ok('GET', '/nodes/n7/boot')).n7.why).toContain(reason);
    for (const wanted of ['osimage=other', 'runcmd=true']) {
      const { status: refused, json } = await server.call('PUT', '/nodes/n7/bootstate', { body: { state: wanted } });
      expect([refused, json.error[0]]).toEqual([403, expect.stringContaining(reason)]);
    }
    await server.ok('PUT', '/nodes/n7', { addkcmdline: '${none}muster.disk=/dev/sdb' });
    expect(await ownScript()).toContain('addkcmdline of the node n7 has ?{ in the word');
    expect((await server.ok('GET', '/nodes/n7/boot')).n7.why).toContain('has ${ in the word');
    await server.ok('PUT', '/nodes/n7', { addkcmdline: 'quiet memmap=8G$4G muster.shell' });
    await server.ok('PUT', '/osimages/other', { addkcmdline: 'imgurl=http://127.0.0.1/x' });
    expect(await ownScript()).toContain('addkcmdline of the image other has the word');
    await server.ok('PUT', '/osimages/other', { addkcmdline: '' });
    await server.ok('PUT', '/nodes/n7', { addkcmdline: '' });
    await set('deb');
  });

  it('is refused if it names another image', async () => {
    await lab.server.ok('PUT', '/nodes/n7', { provmethod: 'other' });
    expect(await ownScript()).toContain('The node was set to the image deb, but its provmethod is other now.');
    await lab.server.ok('PUT', '/nodes/n7', { provmethod: 'deb' });
    expect(await ownScript()).toContain('muster.root=disk');
  });

  it('is refused if the disk would be divided otherwise', async () => {
    const { server } = lab;
    const layout = join(lab.install, 'layout');
    const write = (text: string) => writeFileSync(layout, text);
    write('part / --size=1\n');
    await server.ok('PUT', '/osimages/deb', { partitionfile: layout });
    const { status: refused, json } = await server.call('PUT', '/nodes/n7/bootstate', { body: { osimage: 'deb' } });
    expect([refused, json.error[0]]).toEqual([403, expect.stringContaining('line 1: "part / --size=1" is not')]);
    write('partition 1GiB swap\npartition rest ext4 /\n');
    await set('deb');
    expect(await ownScript()).toContain('The image deb has a partitionfile, and its initial RAM disk cannot read it');
    const able = { ...parts('able'), initrd: gzipSync('lib/muster/layout') };
    const pack = writePack(join(lab.install, 'deb'), 'deb', able);
    await expect.poll(ownScript, { timeout: 5_000 }).toContain(`the pack ${pack} is in use now`);
    await set('deb');
    expect(await ownScript()).toContain(' muster.layout=partition:1024:swap::swap,partition:0:ext4:/:root ');
    await server.ok('PUT', '/nodes/n7/bootstate', { state: 'runcmd=true,osimage=deb' });
    await server.ok('PUT', '/nodes/n7/bootstate', { state: 'next' });
    expect(await ownScript()).toContain(' muster.layout=partition:1024:swap::swap,partition:0:ext4:/:root ');
    write('mirror\npartition rest ext4 /\n');
    expect(await ownScript()).toContain('The partitionfile of the image deb divides disks otherwise now');
    await set('deb');
    expect(await ownScript()).toContain(' muster.layout=partition:0:ext4:/:root muster.mirror=auto ');
    await server.ok('PUT', '/osimages/deb', { partitionfile: '' });
    await set('deb');
    expect(await ownScript()).not.toContain('muster.layout');
  });

  it('is refused if another pack would go to the disk; in memory the node boots the pack in use', async () => {
    const directory = join(lab.install, 'deb');
    const before = (await lab.server.ok('GET', '/tables/bootchoice/rows/node=n7')).bootchoice[0].pack;
    const newer = writePack(directory, 'deb', parts('newer'));
    expect(newer).not.toBe(before);
    // The manifest is looked at once a second.
    await expect.poll(ownScript, { timeout: 5_000 }).toContain(`the pack ${newer} is in use now`);
    await set('deb');
    expect(await ownScript()).toContain(`boot/images/deb/${newer}/root`);
    await lab.server.ok('PUT', '/osimages/deb', { provmethod: 'netboot' });
    await set('deb');
    const newest = writePack(directory, 'deb', parts('newest'));
    await expect.poll(ownScript, { timeout: 5_000 }).toContain(`boot/images/deb/${newest}/root`);
  });
});
