import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BootLab, startBootLab } from './boot-client.ts';
import { definePacked } from './packed-image.ts';

const address = '127.0.0.31';
const script = '/boot/52-54-00-00-00-31.ipxe';
let lab: BootLab;
beforeAll(async () => {
  lab = await startBootLab();
  const { server } = lab;
  const node = { groups: 'all', netboot: 'xnba', arch: 'x86_64', mac: '52:54:00:00:00:31', ip: address };
  await server.ok('PUT', '/nodes', { n1: { ...node, osvolume: 'serial=S1', addkcmdline: 'debug R::keep=1 R::more' } });
  await definePacked(lab, 'deb', { root: Buffer.from('r'), kernel: Buffer.from('k'), initrd: Buffer.from('i') });
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

it('a disk that cannot be named is told on the machine’s screen', async () => {
  await lab.server.ok('PUT', '/nodes/n1', { osvolume: 'usbdisk' });
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
  expect((await lab.from(address, script)).text).toMatch(
    /echo muster: n1: The attribute osvolume \?usbdisk\? names no disk/,
  );
});
