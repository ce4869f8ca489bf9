import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BootLab, startBootLab } from './boot-client.ts';
import { definePacked } from './packed-image.ts';

const address = '127.0.0.41';
const script = '/boot/52-54-00-00-00-41.ipxe';
let lab: BootLab;
const row = (table: string, key: string, values: object): Promise<unknown> =>
  lab.server.ok('PUT', `/tables/${table}/rows/${encodeURIComponent(key)}`, values);

beforeAll(async () => {
  lab = await startBootLab();
  const node = { groups: 'all', netboot: 'xnba', arch: 'x86_64' };
  await lab.server.ok('PUT', '/nodes', {
    n1: { ...node, mac: '52:54:00:00:00:41', ip: address },
    n2: { ...node, mac: '52:54:00:00:00:42', ip: '127.0.0.42' },
  });
  const bytes = Buffer.from('x');
  await definePacked(lab, 'deb', { root: bytes, kernel: bytes, initrd: bytes });
  await lab.server.ok('PUT', '/osimages/deb', { provmethod: 'statelite' });
  await row('litefile', 'image=deb,file=/var/kept/', { options: 'persistent' });
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
});
afterAll(() => lab.stop());

it('a node whose tables cannot be followed is told why on its screen', async () => {
  const { text } = await lab.from(address, script);
  expect(text).toMatch(/echo muster: n1: The file \/var\/kept of image deb is persistent/);
  expect(text).not.toContain('muster.statelite');
});

it('a node of a statelite image fetches what it keeps and where, and nobody else does', async () => {
  await row('statelite', 'node=all', { statemnt: '10.0.0.9:/state' });
  const { text } = await lab.from(address, script);
  expect(text).toContain(' muster.statelite ');
  const path = /muster\.report=http:\/\/[^/]+(\S+)/.exec(text)![1]!.replace('/report/', '/statelite/');
  const plan = await lab.from(address, path);
  expect(plan.text).toBe('state nfs 10.0.0.9 /state - n1\ndirectory bind state /var/kept\n');
  expect((await lab.from('127.0.0.42', path)).status).toBe(403);
  expect((await lab.from(address, path.replace(/[^/]+$/, 'wrong'))).status).toBe(403);
});
