import { randomBytes } from 'node:crypto';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BootLab, startBootLab } from './boot-client.ts';
import { definePacked, type Parts } from './packed-image.ts';

const parts: Parts = { root: randomBytes(9_000), kernel: randomBytes(5_000), initrd: randomBytes(6_000) };
const address = '127.0.0.31';
const script = '/boot/52-54-00-00-00-31.ipxe';
let lab: BootLab;
let pack: string;
beforeAll(async () => {
  lab = await startBootLab();
  const attributes = { groups: 'all', netboot: 'xnba', arch: 'x86_64' };
  await lab.server.ok('PUT', '/nodes', {
    n1: { ...attributes, mac: '52:54:00:00:00:31', ip: address },
    n2: { ...attributes, mac: '52:54:00:00:00:32', ip: '127.0.0.32' },
  });
  pack = await definePacked(lab, 'deb', parts);
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
});
afterAll(() => lab.stop());

const shown = async (node = 'n1') => (await lab.server.ok('GET', `/nodes/${node}/boot`))[node];
const report = async (body: string) => {
  const path = /muster\.report=http:\/\/[^/]+(\S+)/.exec((await lab.from(address, script)).text)![1]!;
  return (await lab.from(address, path, { method: 'POST', body })).status;
};

it('tells where a node is, step by step, and why it does not go on', async () => {
  expect((await shown()).why).toMatch(/^Nothing was seen of it since muster was started/);
  const { text } = await lab.from(address, script);
  expect((await shown()).why).toMatch(/^It fetched the boot script \d+ seconds ago, and never the kernel\.$/);
  await lab.from(address, script);
  expect((await shown()).why).toMatch(
    /^It fetched the boot script 2 times, last \d+ seconds ago, and never the kernel/,
  );
  for (const kind of ['kernel', 'initrd']) await lab.from(address, `/boot/images/deb/${pack}/${kind}`);
  // What was sent is noted when the connection has taken it.
  await expect
    .poll(async () => (await shown()).why)
    .toMatch(/^It fetched kernel and initial RAM disk \d+ seconds ago\. Nothing was heard/);
  const path = /muster\.report=http:\/\/[^/]+(\S+)/.exec(text)![1]!;
  const send = (body: string) => lab.from(address, path, { method: 'POST', body });
  await send('initramfs\nfetching http://x/root');
  expect(await shown()).toMatchObject({
    bootstate: 'netboot debian12-x86_64-compute',
    step: 'fetching',
    lastline: 'fetching http://x/root',
    why: expect.stringMatching(/^It reported \d+ seconds ago that it is at "fetching": http:\/\/x\/root\./),
    steps: [
      expect.stringMatching(/^\S+Z http script boot\/52-54-00-00-00-31\.ipxe \(\d+ bytes\)$/),
      expect.stringMatching(/ http script /),
      expect.stringMatching(/ http kernel boot\/images\/deb\/[0-9a-f]{16}\/kernel \(5000 bytes\)$/),
      expect.stringMatching(/ http initrd /),
      expect.stringMatching(/ report initramfs$/),
      expect.stringMatching(/ report fetching http:\/\/x\/root$/),
    ],
  });
  await send('failed the image is not what its checksum says');
  expect((await shown()).why).toMatch(/^It failed \d+ seconds ago: the image is not what its checksum says\.$/);
  await expect.poll(async () => (await shown()).status).toBe('failed');
});

it('a node that asks again begins another boot', async () => {
  await lab.from(address, script);
  expect((await shown()).steps).toHaveLength(1);
});

it('a part of a file, or one broken off, is told as such', async () => {
  await lab.from(address, `/boot/images/deb/${pack}/kernel`, { headers: { range: 'bytes=0-9' } });
  await expect.poll(async () => (await shown()).steps.at(-1)).toMatch(/ \(10 bytes, not all of it\)$/);
  expect((await shown()).why).toMatch(/did not get all of it/);
});

it('a node that was installed boots from its disk from then on, and tells the end of it', async () => {
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
  expect(await report('written /dev/sda')).toBe(204);
  expect(await lab.server.ok('GET', '/nodes/n1/bootstate')).toEqual({ n1: { bootstat: 'boot' } });
  expect(await lab.server.ok('GET', '/nodes/n1/attrs/provmethod')).toEqual({ n1: { provmethod: 'deb' } });
});

it.each(['', 'bogus', 'booted\nbogus', 'x\n'.repeat(300)])('refuses the report %j', async (body) => {
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
  expect(await report(body)).toBe(400);
});

it('who may not see a node does not see its boot', async () => {
  expect(Object.keys(await lab.server.ok('GET', '/nodes/n2/boot'))).toEqual(['n2']);
  expect((await lab.server.call('GET', '/nodes/n2/boot', { token: null })).status).toBe(401);
});

it('trees of install media are for nodes, and nothing else of the install directory is', async () => {
  const tree = join(lab.install, 'rocky9.6/x86_64');
  mkdirSync(join(tree, 'images'), { recursive: true });
  mkdirSync(join(lab.install, 'other'));
  writeFileSync(join(tree, 'images/vmlinuz'), 'kernel');
  writeFileSync(join(lab.install, 'other/secret'), 'secret');
  writeFileSync(join(lab.install, 'rocky9.6/secret'), 'secret');
  symlinkSync('../../other/secret', join(tree, 'leak'));
  symlinkSync('images/vmlinuz', join(tree, 'link'));
  await lab.server.ok('POST', '/osimages/el', {
    imagetype: 'linux',
    provmethod: 'install',
    pkgdir: `${tree},http://mirror.example/x`,
  });
  const get = async (path: string, from = address) => {
    const { status, text } = await lab.from(from, `/boot/install/${path}`);
    return status === 200 ? text : status;
  };
  expect(await get('rocky9.6/x86_64/images/vmlinuz')).toBe('kernel');
  expect(await get('rocky9.6/x86_64/link')).toBe('kernel');
  expect(await get('rocky9.6/x86_64/images/vmlinuz', '127.0.0.99')).toBe(403);
  for (const path of [
    'rocky9.6/x86_64/leak',
    'other/secret',
    'rocky9.6/secret',
    'rocky9.6/x86_64/images',
    'rocky9.6/x86_64',
  ])
    expect([path, await get(path)]).toEqual([path, 404]);
});

it('is not changed by others who ask for the script of a node, which is told', async () => {
  await lab.server.ok('PUT', '/nodes/n2/bootstate', { osimage: 'deb' });
  const own = '/boot/52-54-00-00-00-32.ipxe';
  await lab.from('127.0.0.32', own);
  expect(await report('booted')).toBe(204);
  await expect.poll(async () => (await shown()).status).toBe('booted');
  const before = await shown();
  // As far as others are concerned it cannot boot at all.
  await lab.server.ok('PUT', '/nodes/n1', { serialport: '0', serialspeed: '' });
  for (const other of ['127.0.0.32', '127.0.0.99']) expect((await lab.from(other, script)).status).toBe(200);
  const { why, ...after } = await shown();
  expect(after).toEqual({ ...before, why: undefined });
  expect(why).toMatch(
    /^It has booted.* Its boot script was asked for from 127\.0\.0\.99 \d+ seconds ago, which is not an/,
  );
  await lab.server.ok('PUT', '/nodes/n1', { serialport: '' });
  expect((await shown('n2')).why).toMatch(/^It fetched the boot script \d+ seconds ago, and never the kernel\.$/);
});

it('is told of a node that no address is known of as well', async () => {
  await lab.server.ok('PUT', '/nodes/n3', { groups: 'all', netboot: 'xnba', arch: 'x86_64', mac: '52:54:00:00:00:33' });
  await lab.server.ok('PUT', '/nodes/n3/bootstate', { state: 'boot' });
  await lab.from('127.0.0.32', '/boot/52-54-00-00-00-33.ipxe');
  expect((await shown('n3')).steps).toEqual([]);
  await lab.from('127.0.0.99', '/boot/52-54-00-00-00-33.ipxe');
  expect((await shown('n3')).why).toMatch(/^It was sent to its disk/);
});
