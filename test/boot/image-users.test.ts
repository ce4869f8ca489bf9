import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BootLab, startBootLab } from './boot-client.ts';
import { definePacked } from './packed-image.ts';

let lab: BootLab;
beforeAll(async () => {
  lab = await startBootLab();
  const attributes = { groups: 'all', netboot: 'xnba', arch: 'x86_64' };
  await lab.server.ok('PUT', '/nodes', {
    n1: { ...attributes, mac: '52:54:00:00:00:01' },
    n2: { ...attributes, mac: '52:54:00:00:00:02' },
    n3: { ...attributes, mac: '52:54:00:00:00:03' },
  });
  await definePacked(lab, 'deb', { root: Buffer.from('r'), kernel: Buffer.from('k'), initrd: Buffer.from('i') });
  await lab.server.ok('PUT', '/nodes/n1-n3/bootstate', { osimage: 'deb' });
  await lab.server.ok('PUT', '/nodes/n3/bootstate', { state: 'boot' });
});
afterAll(() => lab.stop());

const manifest = (): boolean => existsSync(join(lab.install, 'deb/muster-image.json'));
const isDefined = async (): Promise<boolean> => (await lab.server.call('GET', '/osimages/deb')).status === 200;

it.each([
  ['what is built of it', 'DELETE', '/osimages/deb/instance', undefined],
  ['its definition', 'DELETE', '/osimages/deb', undefined],
  [
    'its definition among others',
    'DELETE',
    '/definitions',
    { definitions: [{ type: 'osimage', names: 'deb' }], missing: 'skip' },
  ],
  [
    'its definition beside other changes',
    'PUT',
    '/definitions',
    {
      definitions: [{ type: 'node', names: 'n3', attributes: { rack: 'r1' } }],
      remove: [{ type: 'osimage', names: 'deb' }],
    },
  ],
] as const)(
  'of an image that nodes are set to, %s is not removed, and they are named',
  async (_what, method, path, body) => {
    const { status, json } = await lab.server.call(method, path, body === undefined ? {} : { body });
    expect([status, json.error]).toEqual([
      403,
      [
        'n1,n2 are set to the image deb. PUT /nodes/n1,n2/bootstate {"state":"boot"} sets them to their disks.',
        'To remove it all the same, use force.',
      ],
    ]);
    expect([manifest(), await isDefined()]).toEqual([true, true]);
  },
);

it('is removed if that is forced', async () => {
  expect((await lab.server.call('DELETE', '/osimages/deb/instance?force=yes')).status).toBe(400);
  await lab.server.ok('DELETE', '/osimages/deb/instance?force=1');
  expect(manifest()).toBe(false);
  const { status, headers } = await lab.server.call('DELETE', '/osimages/deb?force=1');
  expect([status, headers['x-muster-note']]).toEqual([200, expect.stringContaining('n1,n2 are set to the image deb')]);
  expect(await isDefined()).toBe(false);
});
