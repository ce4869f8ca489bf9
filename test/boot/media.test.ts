import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { environmentFor, muster, program } from '../cli/command-line.ts';
import { labNode } from '../hardware/nodes.ts';
import { written } from '../harness/output.ts';
import { exitOf, startServer, temporaryDirectory } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { type BootLab, bootLabOn, startBootLab } from './boot-client.ts';
import { definePacked, type Parts } from './packed-image.ts';

const count = 4;
const parts: Parts = { root: randomBytes(1_000), kernel: randomBytes(70_001), initrd: randomBytes(130_000) };
const loaders = temporaryDirectory();
const images = temporaryDirectory();
const environment = { MUSTER_BOOT_DIRECTORY: loaders, MUSTER_REMOTE_SOURCES: join(images, 'open') };
const rescue = randomBytes(200_000);
const foreign = 'nfs://filer/other.iso';
let lab: BootLab;
let bmcs: RedfishLab;

const address = (node: number): string => `127.0.4.${node}`;
const open = join(images, 'open', 'rescue.iso');

beforeAll(async () => {
  for (const name of ['shimx64.efi', 'gcdx64.efi']) writeFileSync(join(loaders, name), randomBytes(5_000));
  mkdirSync(join(images, 'open'));
  writeFileSync(open, rescue);
  writeFileSync(join(images, 'closed.iso'), rescue);
  [lab, bmcs] = await Promise.all([
    startBootLab(environment),
    startRedfish({ count, prefix: '127.214', kinds: ['plain'] }),
  ]);
  const nodes = bmcs.addresses.map((bmc, index) => [
    `m${index + 1}`,
    labNode('redfish', bmc, {
      netboot: 'grub2',
      arch: 'x86_64',
      ip: address(index + 1),
      mac: `52:54:00:00:04:0${index + 1}`,
    }),
  ]);
  await lab.server.ok('PUT', '/nodes', Object.fromEntries(nodes));
  await definePacked(lab, 'deb', parts);
  for (let index = 0; index < count; index++) await bmcs.fault(index, { media: { fetches: true } });
}, 120_000);
afterAll(async () => {
  await Promise.all([lab?.stop(), bmcs?.stop()]);
  for (const directory of [loaders, images]) rmSync(directory, { recursive: true, force: true });
});
afterEach(() =>
  Promise.all(bmcs.addresses.map((_, index) => bmcs.fault(index, { media: { fetches: true }, garbage: false }))),
);

const stateOf = (node: number) => bmcs.state(node - 1);
/** The images in the drives of a node. */
const imagesOf = async (node: number): Promise<readonly string[]> =>
  (await stateOf(node)).media.drives.flatMap(({ image }) => image ?? []);
const isInserted = (node: number, how = 1) =>
  expect.poll(async () => (await imagesOf(node)).length, { timeout: 60_000 }).toBe(how);
const isOn = (node: number) => expect.poll(async () => (await stateOf(node)).power, { timeout: 60_000 }).toBe('On');
const pathOf = (url: string): string => new URL(url).pathname;
const fetched = (path: string, headers = {}) => lab.from('127.0.0.1', path, { headers });
const report = async (node: number, path: string, body: string): Promise<number> =>
  (await lab.from(address(node), path, { method: 'POST', body })).status;
const provision = (range: string, body: object = {}, method: 'POST' | 'PUT' = 'POST') =>
  lab.server.call(method, `/nodes/${range}/provision`, { body: { osimage: 'deb', media: true, ...body } });
const reportIn = (iso: Buffer): string => / muster\.report=http:\/\/[^/]+(\S+)/.exec(iso.toString('latin1'))![1]!;
const run = (...argv: string[]) => program(muster, argv, environmentFor(lab.server, images));
/** All that muster has written for people. */
const everything = async (): Promise<string> =>
  (await written(lab.server)) + JSON.stringify(await lab.server.ok('GET', '/tables/auditlog/rows'));

describe('a boot from virtual media', () => {
  it('inserts what is decided, boots from it once, and ejects it when the node runs', async () => {
    const waiting = provision('m1');
    await isOn(1);
    const [url = ''] = await imagesOf(1);
    const { media, starts } = await stateOf(1);
    expect(starts.at(-1)).toBe('Cd');
    expect(media.fetched).toEqual([{ url, status: 206, bytes: 65_536 }]);
    const { status, body } = await fetched(pathOf(url));
    expect(status).toBe(200);
    const text = body.toString('latin1');
    for (const part of [parts.kernel, parts.initrd]) expect(body.includes(part)).toBe(true);
    expect(text).toContain('BOOTIF=01-52-54-00-00-04-01');
    expect(text).toMatch(/linux \/vmlinuz imgurl=http:\/\/127\.0\.0\.1:\d+\/boot\/images\/deb\//);
    // BMCs read it piece by piece, from anywhere to anywhere.
    for (const [first, last] of [
      [0, 0],
      [32_768, 34_815],
      [body.length - 200_000, body.length - 1],
    ] as const) {
      const piece = await fetched(pathOf(url), { Range: `bytes=${first}-${last}` });
      expect([piece.status, piece.body.equals(body.subarray(first, last + 1))]).toEqual([206, true]);
    }
    const path = reportIn(body);
    expect(await report(1, path, 'initramfs')).toBe(204);
    await isInserted(1, 0);
    await expect.poll(async () => (await fetched(pathOf(url))).status).toBe(404);
    expect(await report(1, path, 'booting')).toBe(204);
    expect(await report(1, path, 'booted')).toBe(204);
    const reply = await waiting;
    expect([reply.status, reply.json]).toEqual([201, { m1: { provision: 'booted', seconds: expect.any(String) } }]);
    const shown = JSON.stringify(await lab.server.ok('GET', '/nodes/m1/boot'));
    expect(shown).toContain('media loader virtual media');
    expect(shown + (await everything())).not.toContain(pathOf(url).split('/')[3]!);
  });

  it('fails where the BMC does not take it, leaves nothing inserted, and takes the state back', async () => {
    await bmcs.fault(1, { media: { wants: 'license' } });
    const { status, json } = await provision('m2');
    expect(status).toBe(403);
    expect(JSON.stringify(json)).toMatch(
      /its boot medium could not be inserted.*need a license.*It is set to offline, as before/s,
    );
    expect((await stateOf(2)).power).toBe('Off');
    expect(await lab.server.ok('GET', '/nodes/m2/bootstate')).toMatchObject({ m2: { bootstat: 'offline' } });
    expect(await imagesOf(2)).toEqual([]);
  });

  it('refuses a node whose BMC has no virtual media, and the state boot', async () => {
    await lab.server.ok('PUT', '/nodes/i1', labNode('ipmi', '127.9.9.9', { netboot: 'grub2', arch: 'x86_64' }));
    expect((await provision('i1')).text).toContain('has no virtual media; only Redfish has them');
    const { text } = await lab.server.call('PUT', '/nodes/m1/provision', { body: { action: 'boot', media: true } });
    expect(text).toContain('no medium');
  });

  it('is followed up when muster was killed meanwhile, and when the BMC was away', async () => {
    expect((await provision('m3', {}, 'PUT')).status).toBe(200);
    const [url = ''] = await imagesOf(3);
    const { body } = await fetched(pathOf(url));
    const { data, child } = lab.server;
    const { port } = lab;
    child.kill('SIGKILL');
    await exitOf(child);
    const own = { ...environment, MUSTER_BOOT_LISTEN: `127.0.0.1:${port}` };
    lab = await bootLabOn(await startServer({ data, environment: own }), lab.install);
    // The machine loads what it began to load.
    expect((await fetched(pathOf(url))).body.equals(body)).toBe(true);
    await bmcs.fault(2, { garbage: true });
    expect(await report(3, reportIn(body), 'initramfs')).toBe(204);
    await expect
      .poll(() => lab.server.output(), { timeout: 60_000 })
      .toContain('boot medium of m3 was not ejected yet');
    expect(await imagesOf(3)).toEqual([url]);
    await bmcs.fault(2, { garbage: false });
    await isInserted(3, 0);
  }, 120_000);
});

describe('virtual media of nodes', () => {
  it('are inserted from a file of the management node, shown and ejected', async () => {
    const { stdout } = await run('media', 'm1', 'insert', open, '--server-files');
    expect(stdout).toBe(`m1: inserted ${open} into Cd\n`);
    const [url = ''] = await imagesOf(1);
    expect((await fetched(pathOf(url))).body.equals(rescue)).toBe(true);
    expect((await fetched(`${pathOf(url)}x`)).status).toBe(404);
    // The same file again keeps its address.
    await lab.server.ok('PUT', '/nodes/m1/media', { file: open });
    expect(await imagesOf(1)).toEqual([url]);
    const shown = await run('media', 'm1');
    expect(shown.stdout).toContain('m1: Usb (USBStick, Floppy): empty\nm1: Cd (CD, DVD): http://127.0.0.1:');
    expect(shown.stdout).toContain('/boot/media/.../rescue.iso, inserted by muster\n');
    expect((await run('media', 'm1', 'eject')).stdout).toBe('m1: ejected Cd\n');
    expect((await run('media', 'm1', 'eject')).stdout).toBe('m1: nothing to eject\n');
    expect((await fetched(pathOf(url))).status).toBe(404);
    expect(shown.stdout + (await everything())).not.toContain(pathOf(url).split('/')[3]!);
  });

  it('are inserted from the address that is given, also where only its hidden part is another', async () => {
    const url = (image: string): string => `http://127.0.0.1:9/get?image=${image}`;
    await bmcs.fault(0, { media: { fetches: false } });
    await lab.server.ok('PUT', '/nodes/m1/media', { url: url('rescue') });
    expect(await imagesOf(1)).toEqual([url('rescue')]);
    await lab.server.ok('PUT', '/nodes/m1/media', { url: url('other') });
    expect(await imagesOf(1)).toEqual([url('other')]);
    await lab.server.ok('DELETE', '/nodes/m1/media');
  });

  it('of somebody else stay, and the error names the image', async () => {
    for (const drive of ['Cd', 'Cd2']) await bmcs.fault(3, { medium: { drive, image: foreign } });
    const url = 'http://user:pw@127.0.0.1/x.iso';
    expect((await lab.server.call('PUT', '/nodes/m4/media', { body: { url } })).text).toContain('account');
    for (const [method, body] of [
      ['PUT', { file: open }],
      ['DELETE', {}],
    ] as const) {
      const { status, text } = await lab.server.call(method, '/nodes/m4/media', { body });
      expect([status, text]).toEqual([403, expect.stringContaining(foreign)]);
    }
    expect(await imagesOf(4)).toEqual([foreign, foreign]);
    await lab.server.ok('DELETE', '/nodes/m4/media?drive=Cd2&force=1');
    expect(await imagesOf(4)).toEqual([foreign]);
    await bmcs.fault(3, { medium: { drive: 'Cd', image: null } });
  });

  it('need a right, on the node and to the file', async () => {
    const token = await addUser(lab.server, 'mia');
    const rule = (attributes: object) =>
      lab.server.ok('PUT', '/policy/7', { name: 'mia', rule: 'allow', ...attributes });
    const put = (node: string, file: string) =>
      lab.server.call('PUT', `/nodes/${node}/media`, { body: { file }, token });
    expect((await put('m1', open)).status).toBe(403);
    await rule({ commands: 'rmedia', noderange: 'm1' });
    expect((await put('m2', open)).status).toBe(403);
    for (const file of ['/etc/shadow', join(images, 'closed.iso'), images])
      expect((await put('m1', file)).status).toBe(403);
    expect(await imagesOf(1)).toEqual([]);
    expect((await put('m1', open)).status).toBe(200);
    expect((await lab.server.call('DELETE', '/nodes/m1/media', { token })).status).toBe(200);
    await rule({ commands: 'rmedia', noderange: 'm1', parameters: '^stat$' });
    expect((await put('m1', open)).status).toBe(403);
    expect((await lab.server.call('GET', '/nodes/m1/media', { token })).status).toBe(200);
    await lab.server.ok('DELETE', '/policy/7');
  });

  it('are fetched by HTTPS where that is set, and nothing else is there', async () => {
    const { data, child } = lab.server;
    child.kill('SIGTERM');
    await exitOf(child);
    const own = { ...environment, MUSTER_BOOT_LISTEN: '127.0.0.1:0', MUSTER_BOOT_MEDIA_LISTEN: '127.0.0.1:0' };
    lab = await bootLabOn(await startServer({ data, environment: own }), lab.install);
    await lab.server.ok('PUT', '/nodes/m2/media', { file: open });
    const [url = ''] = await imagesOf(2);
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/boot\/media\//);
    expect((await stateOf(2)).media.fetched.at(-1)).toEqual({ url, status: 206, bytes: 65_536 });
    await lab.server.ok('DELETE', '/nodes/m2/media');
  });
});
