import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { exitOf, startServer, temporaryDirectory } from '../harness/server.ts';
import { type BootLab, bootLabOn, startBootLab, tftpPortOf } from './boot-client.ts';
import { definePacked, type Parts } from './packed-image.ts';
import { tftpGet } from './tftp-client.ts';

const count = 200;
const parts: Parts = { root: randomBytes(200_000), kernel: randomBytes(30_000), initrd: randomBytes(40_000) };
const loader = randomBytes(20_480);
const loaders = temporaryDirectory();
const environment = { MUSTER_BOOT_TFTP_LISTEN: '127.0.0.1:0', MUSTER_BOOT_DIRECTORY: loaders };
const address = (i: number): string => `127.1.${Math.floor(i / 250)}.${(i % 250) + 1}`;
const mac = (i: number): string =>
  `52:54:00:01:${[i >> 8, i & 255].map((n) => n.toString(16).padStart(2, '0')).join(':')}`;
let lab: BootLab;
beforeAll(async () => {
  writeFileSync(join(loaders, 'undionly.kpxe'), loader);
  lab = await startBootLab(environment);
  const nodes = Array.from({ length: count }, (_, i) => [
    `m${i}`,
    { groups: 'all', netboot: 'xnba', arch: 'x86_64', ip: address(i), mac: mac(i) },
  ]);
  await lab.server.ok('PUT', '/nodes', Object.fromEntries(nodes));
  await definePacked(lab, 'deb', parts);
});
afterAll(() => lab.stop());

/** From the loader to the first file of the image; returns where it reports. */
async function begin(i: number): Promise<string> {
  expect((await tftpGet(address(i), await tftpPortOf(lab.server), 'undionly.kpxe')).equals(loader)).toBe(true);
  const { text } = await lab.from(address(i), `/boot/${mac(i).replaceAll(':', '-')}.ipxe`);
  for (const kind of ['kernel', 'initrd'] as const) {
    const [, path] = new RegExp(`^${kind} --name ${kind} http://[^/]+(\\S+)`, 'm').exec(text)!;
    expect((await lab.from(address(i), path!)).body.equals(parts[kind])).toBe(true);
  }
  const [, root] = / imgurl=http:\/\/[^/]+(\S+)/.exec(text)!;
  expect((await lab.from(address(i), root!)).body.equals(parts.root)).toBe(true);
  return / muster\.report=http:\/\/[^/]+(\S+)/.exec(text)![1]!;
}

const report = async (i: number, path: string, body: string): Promise<number> =>
  (await lab.from(address(i), path, { method: 'POST', body })).status;

const statuses = async (): Promise<string[]> => {
  const nodes = await lab.server.ok('GET', '/nodes/all/attrs/status');
  return [...new Set(Object.values(nodes).map((node) => (node as { status: string }).status))];
};

const machines = <T>(work: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => work(i)));

it('machines go on with their boot when muster was killed in the middle of it', async () => {
  await lab.server.ok('PUT', '/nodes/all/bootstate', { osimage: 'deb' });
  const paths = await machines(begin);
  const { data, child } = lab.server;
  const port = lab.port;
  child.kill('SIGKILL');
  await exitOf(child);
  const own = { ...environment, MUSTER_BOOT_LISTEN: `127.0.0.1:${port}` };
  lab = await bootLabOn(await startServer({ data, environment: own }), lab.install);
  expect(new Set(await machines((i) => report(i, paths[i]!, 'booted')))).toEqual(new Set([204]));
  await expect.poll(statuses).toEqual(['booted']);
});
