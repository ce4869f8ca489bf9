import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { exitOf, startServer } from '../harness/server.ts';
import { behindNginx, type BootLab, bootLabOn, startBootLab } from './boot-client.ts';
import { definePacked, type Parts } from './packed-image.ts';

const parts: Parts = { root: randomBytes(3_000_000), kernel: randomBytes(5_000), initrd: randomBytes(6_000) };
const address = '127.0.0.41';
let environment: Record<string, string>;
let lab: BootLab;
let root: string;
beforeAll(async () => {
  environment = await behindNginx();
  lab = await startBootLab(environment);
  await lab.server.ok('PUT', '/nodes/n1', { groups: 'all', ip: address, mac: '52:54:00:00:00:41', netboot: 'xnba' });
  root = `/boot/images/deb/${await definePacked(lab, 'deb', parts)}/root`;
});
afterAll(() => lab.stop());

const configuration = () => readFileSync(join(lab.server.data, 'boot/nginx.conf'), 'utf8');
const pid = () => Number(readFileSync(join(lab.server.data, 'boot/nginx.pid'), 'utf8'));

it('what a client says of itself does not count, and nobody gets around nginx', async () => {
  const headers = { 'x-muster-client': address, 'x-muster-server': '127.0.0.1', 'x-muster-port': '80' };
  expect((await lab.from('127.0.0.99', root, { headers })).status).toBe(403);
  const behind = Number(/upstream muster \{ server 127\.0\.0\.1:(\d+);/.exec(configuration())![1]);
  for (const secret of ['', 'x'])
    expect(
      (await lab.from(address, root, { headers: { ...headers, 'x-muster-proxy': secret }, port: behind })).text,
    ).toBe('Only the nginx of muster may ask for this.\n');
});

it('a client cannot ask for files by their paths', async () => {
  for (const path of [`/muster-files${lab.install}/deb/muster-image.json`, '/muster-files/etc/passwd'])
    expect((await lab.from(address, path)).status).toBe(404);
});

it('muster sends what nginx may not read', async () => {
  chmodSync(lab.install, 0o700);
  try {
    expect((await lab.from(address, root)).body.equals(parts.root)).toBe(true);
    await expect.poll(() => lab.server.output()).toMatch(/nginx may not read .*root/);
  } finally {
    chmodSync(lab.install, 0o755);
  }
});

it('nginx comes back when it dies, and serves on for the next muster when muster is killed', async () => {
  const killed = pid();
  process.kill(killed, 'SIGKILL');
  await expect.poll(() => lab.server.output()).toMatch(/nginx has ended/);
  await expect.poll(pid).not.toBe(killed);
  const status = () =>
    lab.from(address, root, { method: 'HEAD' }).then(
      (reply) => reply.status,
      () => 0,
    );
  await expect.poll(status).toBe(200);
  const before = pid();
  const { data, child } = lab.server;
  child.kill('SIGKILL');
  await exitOf(child);
  lab = await bootLabOn(await startServer({ data, environment }), lab.install);
  expect(pid()).toBe(before);
  expect(await status()).toBe(200);
});
