import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BootLab, bootLabOn, tftpPortOf } from '../boot/boot-client.ts';
import { definePacked, type Parts } from '../boot/packed-image.ts';
import { tftpGet } from '../boot/tftp-client.ts';
import { temporaryDirectory } from '../harness/server.ts';
import { type BusCluster, startBusCluster, type TestWorker } from './cluster.ts';

/** More than one message takes. */
const parts: Parts = { root: randomBytes(3_500_000), kernel: randomBytes(30_000), initrd: randomBytes(40_000) };
const install = temporaryDirectory();
const own = '127.0.0.56';
const foreign = '127.0.0.57';
const script = (last: string): string => `/boot/52-54-00-00-00-${last}.ipxe`;

let cluster: BusCluster;
let worker: TestWorker;
/** Requests go to the worker: the server itself serves no machines. */
let lab: BootLab;

beforeAll(async () => {
  cluster = await startBusCluster(['sn1', 'sn2']);
  const { server } = cluster;
  worker = await cluster.worker('sn1', {
    environment: { MUSTER_BOOT_LISTEN: '127.0.0.1:0', MUSTER_BOOT_TFTP_LISTEN: '127.0.0.1:0' },
  });
  lab = await bootLabOn({ ...server, output: worker.output }, install);
  await server.ok('PUT', '/globalconf/attrs/installdir', { installdir: install });
  const common = { groups: 'all', netboot: 'xnba', arch: 'x86_64' };
  await server.ok('PUT', '/nodes', {
    n1: { ...common, ip: own, mac: '52:54:00:00:00:56', servicenode: 'sn1' },
    n2: { ...common, ip: foreign, mac: '52:54:00:00:00:57', servicenode: 'sn2' },
    sn1: { groups: 'service' },
  });
  await definePacked(lab, 'deb', parts);
  await server.ok('PUT', '/nodes/n1,n2/bootstate', { osimage: 'deb' });
});
afterAll(async () => {
  await cluster?.remove();
  rmSync(install, { recursive: true, force: true });
});

test('a worker serves no machines before its definition says so', async () => {
  const refused = await lab.from(own, script('56'));
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('setuptftp=1')]);
  await cluster.server.ok('PUT', '/nodes/sn1', { setuptftp: '1' });
});

test('a node boots from its worker to the end, and the server knows of every step', async () => {
  const { text, status } = await lab.from(own, script('56'));
  expect(status).toBe(200);
  for (const kind of ['kernel', 'initrd'] as const) {
    const [, at, path] = new RegExp(`^${kind} --name ${kind} http://([^/]+)(\\S+)`, 'm').exec(text)!;
    expect(at).toBe(`127.0.0.1:${lab.port}`);
    expect((await lab.from(own, path!)).body.equals(parts[kind])).toBe(true);
  }
  const [, root] = / imgurl=http:\/\/[^/]+(\S+)/.exec(text)!;
  expect((await lab.from(own, root!)).body.equals(parts.root)).toBe(true);
  const [, report] = / muster\.report=http:\/\/[^/]+(\S+)/.exec(text)!;
  expect((await lab.from(own, report!, { method: 'POST', body: 'booted' })).status).toBe(204);
  const state = async () => (await cluster.server.ok('GET', '/nodes/n1/attrs/status')).n1.status;
  await expect.poll(state).toBe('booted');
  const { n1 } = await cluster.server.ok('GET', '/nodes/n1/boot');
  expect(JSON.stringify(n1)).toMatch(/script.*kernel.*initrd.*root.*booted/);
});

test('the script names the next worker, for a worker that dies between two files', async () => {
  const { server } = cluster;
  await server.ok('POST', '/networks/here', { net: '127.0.0.0', mask: '255.255.255.0' });
  await server.ok('PUT', '/nodes', {
    sn1: { ip: '127.0.0.1' },
    sn2: { groups: 'service', ip: '127.0.0.3', setuptftp: '1' },
  });
  await server.ok('PUT', '/nodes/n1', { servicenode: 'sn1,sn2' });
  expect((await lab.from(own, script('56'))).text).not.toContain('chain');
  await cluster.worker('sn2', {
    environment: { MUSTER_BOOT_LISTEN: '127.0.0.3:0', MUSTER_BOOT_TFTP_LISTEN: '127.0.0.3:0' },
  });
  const { text } = await lab.from(own, script('56'));
  expect(text).toMatch(
    /\n:failed\n[^:]*\nchain http:\/\/127\.0\.0\.3:\d+\/boot\/\$\{netX\/mac:hexhyp\}\.ipxe \|\|\n:later\n/,
  );
});

test('files are fetched once and kept by their hashes', async () => {
  const kept = join(worker.data, 'bus/files/sn1');
  const before = readdirSync(kept, { recursive: true });
  expect(before.length).toBeGreaterThanOrEqual(3);
  const { text } = await lab.from(own, script('56'));
  const [, root] = / imgurl=http:\/\/[^/]+(\S+)/.exec(text)!;
  const part = await lab.from(own, root!, { headers: { Range: 'bytes=1000000-1000099' } });
  expect([part.status, part.body.equals(parts.root.subarray(1_000_000, 1_000_100))]).toEqual([206, true]);
  expect(readdirSync(kept, { recursive: true })).toEqual(before);
});

test('the same by TFTP', async () => {
  expect((await tftpGet(own, await tftpPortOf(worker), script('56').slice(1))).toString()).toContain('#!ipxe');
});

test('a node of another service node gets nothing, whatever it asks for', async () => {
  const refused = await lab.from(foreign, script('57'));
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('is not among those of the node')]);
  expect((await lab.from(own, '/boot/nosuch')).status).toBe(404);
  expect((await lab.from(own, '/boot/../etc/passwd')).status).toBe(404);
});

test('a worker that loses its server says so to machines, and goes on when it is back', async () => {
  await cluster.nats.kill();
  await expect.poll(async () => (await lab.from(own, script('56'))).status, { timeout: 30_000 }).toBe(503);
  await cluster.nats.start();
  await expect.poll(async () => (await lab.from(own, script('56'))).status, { timeout: 30_000 }).toBe(200);
});
