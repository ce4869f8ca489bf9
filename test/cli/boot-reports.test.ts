import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Manifest, manifestFile } from '../../src/images/manifest.ts';
import { type BootLab, startBootLab } from '../boot/boot-client.ts';
import { definePacked, writePack } from '../boot/packed-image.ts';
import { ended, muster } from '../harness/muster-command.ts';
import { environmentFor } from './command-line.ts';

let lab: BootLab;
const address = '127.0.0.41';
const run = (...words: string[]) => ended(muster, words, environmentFor(lab.server, lab.server.data));
const parts = (text: string) => ({ root: Buffer.from(text), kernel: Buffer.from('k'), initrd: Buffer.from('i') });
let pack: string;

beforeAll(async () => {
  lab = await startBootLab();
  const node = { groups: 'all', netboot: 'xnba', arch: 'x86_64', mac: '52:54:00:00:00:41', ip: address };
  await lab.server.ok('PUT', '/nodes', { n1: node });
  pack = await definePacked(lab, 'deb', parts('first'));
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
});
afterAll(() => lab.stop());

/** The node asks for its script, and reports lines by the token in it. */
async function boots(...lines: string[]): Promise<void> {
  const { text } = await lab.from(address, '/boot/52-54-00-00-00-41.ipxe');
  const path = /muster\.report=http:\/\/[^/]+(\S+)/.exec(text)![1]!;
  for (const body of lines) expect((await lab.from(address, path, { method: 'POST', body })).status).toBe(204);
}

describe('muster boot', { timeout: 120_000 }, () => {
  it('says where a node is, why it does not continue, and keeps the first cause of a loop', async () => {
    await boots('initramfs', 'failed no disk');
    await boots('initramfs', 'failed no disk');
    await boots('initramfs');
    const status = async () => (await lab.server.ok('GET', '/nodes/n1/attrs/status')).n1.status;
    await expect.poll(status).toBe('netbooting');
    const { stdout, code } = await run('boot', 'n1');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^n1: set to netboot debian12-x86_64-compute, status netbooting\n/);
    expect(stdout).toMatch(/^n1: {3}\S+Z http script /m);
    expect(stdout).toMatch(/^n1: It reported \d+ seconds ago that it is at "initramfs"/m);
    expect(stdout).toMatch(/^n1: before: \S+Z to \S+Z, 2 times: failed \(script, initramfs, failed\): no disk$/m);
    expect((await lab.server.ok('GET', '/nodes/n1/boot')).n1.history).toHaveLength(1);
  });

  it('watches until all have booted or failed, and then says so', async () => {
    await boots('initramfs', 'failed no network');
    const { stdout, code } = await run('boot', 'n1', '--watch');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^n1: \S+Z report failed no network$/m);
    expect(stdout).toMatch(/^n1: It failed \d+ seconds ago: no network\.$/m);
  });
});

it('muster answers shows files of installers, or says which there are', async () => {
  const { stderr, code } = await run('answers', 'n1');
  expect(code).not.toBe(0);
  expect(stderr).toContain('The image deb is not installed');
});

it('muster rollback and muster image rollback make an earlier pack current, by its id or a tag', {
  timeout: 120_000,
}, async () => {
  // A manifest with both packs.
  const manifest = join(lab.install, 'deb', manifestFile);
  const { packs } = JSON.parse(readFileSync(manifest, 'utf8')) as Manifest;
  const second = writePack(join(lab.install, 'deb'), 'deb', parts('second'));
  const newer = JSON.parse(readFileSync(manifest, 'utf8')) as Manifest;
  writeFileSync(manifest, JSON.stringify({ ...newer, packs: [...packs, ...newer.packs] }));
  const current = async (): Promise<string> => (await lab.server.ok('GET', '/osimages/deb/instance')).current;
  expect(await run('image', 'tag', 'deb', 'good', pack)).toMatchObject({ code: 0, stderr: '' });
  for (const words of [['rollback'], ['image', 'rollback']]) {
    for (const [named, becomes] of [
      ['good', pack],
      [second, second],
      [pack, pack],
      [second, second],
    ] as const) {
      expect(await run(...words, 'deb', named)).toMatchObject({ code: 0, stderr: '' });
      expect(await current()).toBe(becomes);
    }
    const { stderr, code } = await run(...words, 'deb', 'nosuchpack');
    expect([code, stderr]).toEqual([1, expect.stringContaining('nosuchpack')]);
  }
});

it('a machine that is no node leaves a line in the log, once', async () => {
  for (let i = 0; i < 3; i++) await lab.from('127.0.0.77', '/boot/52-54-00-00-00-77.ipxe');
  const lines = (): number => lab.server.output().split('52:54:00:00:00:77 at 127.0.0.77 asks what to boot').length - 1;
  await expect.poll(lines).toBe(1);
});
