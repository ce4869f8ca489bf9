import { afterAll, beforeAll, expect, it } from 'vitest';
import { said } from '../harness/output.ts';
import { type BootLab, startBootLab } from './boot-client.ts';
import { definePacked } from './packed-image.ts';

let lab: BootLab;
beforeAll(async () => {
  lab = await startBootLab({ MUSTER_BOOT_LISTEN: '127.0.0.1:0,[::1]:0' });
  const node = { groups: 'all', netboot: 'xnba', arch: 'x86_64', mac: '52:54:00:00:00:61', ip: '::1' };
  await lab.server.ok('PUT', '/nodes/n1', node);
  const bytes = Buffer.from('x');
  await definePacked(lab, 'deb', { root: bytes, kernel: bytes, initrd: bytes });
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
});
afterAll(() => lab.stop());

it('a node boots over IPv6, by URLs with the address it asked', async () => {
  const [, at] = await said(lab.server, /served at (http:\/\/\[::1\]:\d+)\//);
  const text = await (await fetch(`${at}/boot/52-54-00-00-00-61.ipxe`)).text();
  const url = / imgurl=(\S+)/.exec(text)![1]!;
  expect(url).toMatch(new RegExp(String.raw`^http://\[::1\]:\d+/boot/images/deb/[0-9a-f]{16}/root$`));
  expect(await (await fetch(url)).text()).toBe('x');
  const report = / muster\.report=(\S+)/.exec(text)![1]!;
  expect((await fetch(report, { method: 'POST', body: 'booted' })).status).toBe(204);
});
