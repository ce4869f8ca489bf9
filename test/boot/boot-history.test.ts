import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, temporaryDirectory } from '../harness/server.ts';
import { type BootLab, bootLabOn } from './boot-client.ts';
import { definePacked } from './packed-image.ts';

const address = '127.0.0.43';
const script = '/boot/52-54-00-00-00-43.ipxe';
const data = temporaryDirectory();
const install = temporaryDirectory();
let lab: BootLab;
beforeAll(async () => {
  await startAgain();
  await lab.server.ok('PUT', '/globalconf/attrs/installdir', { installdir: install });
  const node = { groups: 'all', netboot: 'xnba', arch: 'x86_64', mac: '52:54:00:00:00:43', ip: address };
  await lab.server.ok('PUT', '/nodes', { n1: node });
  await definePacked(lab, 'deb', { root: Buffer.from('r'), kernel: Buffer.from('k'), initrd: Buffer.from('i') });
});
afterAll(() => lab.stop());

async function boots(...lines: string[]): Promise<void> {
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
  const { text } = await lab.from(address, script);
  const path = /muster\.report=http:\/\/[^/]+(\S+)/.exec(text)![1]!;
  for (const body of lines) expect((await lab.from(address, path, { method: 'POST', body })).status).toBe(204);
}

const history = async (): Promise<readonly string[]> => (await lab.server.ok('GET', '/nodes/n1/boot')).n1.history;
const written = (): string => readFileSync(join(data, 'boot-history.jsonl'), 'utf8');

async function startAgain(): Promise<void> {
  lab = await bootLabOn(await startServer({ data, environment: { MUSTER_BOOT_LISTEN: '127.0.0.1:0' } }), install);
}

it('the last boots of a node are known after muster was killed, and after it was stopped', async () => {
  await boots('initramfs', 'failed no disk');
  await boots('initramfs', 'failed no disk');
  await expect.poll(written).toContain('"times":2');
  lab.server.child.kill('SIGKILL');
  await lab.server.stop().catch(() => {});
  await startAgain();
  const loop = / 2 times: failed \(script, initramfs, failed\): no disk$/;
  expect(await history()).toEqual([expect.stringMatching(loop)]);
  await boots('initramfs');
  await lab.server.stop();
  await startAgain();
  expect(await history()).toEqual([
    expect.stringMatching(loop),
    expect.stringMatching(/Z: initramfs \(script, initramfs\)$/),
  ]);
  await boots('initramfs', 'failed no disk');
  await boots('initramfs', 'booted');
  expect((await history()).at(-1)).toMatch(/Z: failed \(script, initramfs, failed\): no disk$/);
});

it('a file that is damaged costs only the lines that are', async () => {
  await lab.server.stop();
  appendFileSync(join(data, 'boot-history.jsonl'), '{"node":"n1","began":"x"}\n{"node":');
  await startAgain();
  expect((await history()).at(-1)).toMatch(/Z: booted \(script, initramfs, booted\)$/);
});

it('a renamed node keeps its boots, and a new node has none of the one that had its name', async () => {
  await boots('initramfs', 'failed no disk');
  const own = async (node: string) => (await lab.server.ok('GET', `/nodes/${node}/boot`))[node];
  const before = await own('n1');
  expect(before.history).not.toEqual([]);
  await lab.server.ok('PUT', '/nodes/n1/rename', { newNode: 'n2' });
  expect(await own('n2')).toMatchObject({ history: before.history, lastline: before.lastline });
  await lab.server.ok('PUT', '/nodes/n2/rename', { newNode: 'n1' });
  await lab.server.ok('DELETE', '/nodes/n1');
  await lab.server.ok('PUT', '/nodes', { n1: { groups: 'all' } });
  expect(await own('n1')).toMatchObject({ history: [] });
  expect(JSON.stringify(await own('n1'))).not.toContain('no disk');
  await lab.server.stop();
  await startAgain();
  expect(await own('n1')).toMatchObject({ history: [] });
});
