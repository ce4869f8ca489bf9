import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { makeWire, type Wire } from '../lab/dhcp.ts';
import type { Crew, Voyage } from './machines.ts';
import { definePacked, type Parts } from './packed-image.ts';

/** Machines of ours behind a relay, addresses from Debian's Kea, files from muster. */
const count = 200;
const parts: Parts = { root: randomBytes(200_000), kernel: randomBytes(30_000), initrd: randomBytes(40_000) };
const loader = randomBytes(20_480);
const [server, relay] = ['10.77.0.1', '10.77.250.1'];
const address = (i: number): string => `10.77.1.${i + 1}`;
const mac = (i: number): string => `52:54:00:02:00:${i.toString(16).padStart(2, '0')}`;
const directories = [temporaryDirectory(), temporaryDirectory()] as const;
const [loaders, install] = directories;
let wire: Wire;
let muster: TestServer;

beforeAll(async () => {
  writeFileSync(join(loaders, 'undionly.kpxe'), loader);
  wire = makeWire([`${server}/16`]);
  const addresses = [relay, ...Array.from({ length: count }, (_, i) => address(i))];
  const batch = join(loaders, 'addresses');
  writeFileSync(batch, addresses.map((each) => `address add ${each}/16 dev ${wire.clientNic}\n`).join(''));
  wire.client.run('ip', '-batch', batch);
  muster = await startServer({
    namespace: wire.server,
    config: `[boot]\nlisten = ["${server}:80"]\ntftpListen = ["${server}:69"]\ndirectory = "${loaders}"\n`,
    environment: { MUSTER_DHCP_DAEMON: 'process' },
  });
  const site = { installdir: install, master: server, dhcpinterfaces: wire.serverNic };
  for (const [key, value] of Object.entries(site)) await muster.ok('PUT', `/globalconf/attrs/${key}`, { [key]: value });
  await muster.ok('POST', '/networks/boot', { net: '10.77.0.0', mask: '255.255.0.0', tftpserver: server });
  const nodes = Array.from({ length: count }, (_, i) => [
    `m${i}`,
    { groups: 'all', netboot: 'xnba', arch: 'x86_64', ip: address(i), mac: mac(i) },
  ]);
  await muster.ok('PUT', '/nodes', Object.fromEntries(nodes));
  await definePacked({ server: muster, install }, 'deb', parts);
  await muster.ok('POST', '/services/dhcp');
  await muster.ok('PUT', '/nodes/all/bootstate', { osimage: 'deb' });
});
afterAll(async () => {
  await muster?.stop();
  wire?.remove();
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

async function set(crew: Pick<Crew, 'macs' | 'asksOnly'>): Promise<Voyage[]> {
  const words = [join(import.meta.dirname, 'machines.ts'), JSON.stringify({ server, relay, ...crew })];
  const [program, ...args] = wire.client.command(process.execPath, ...words);
  const { stdout } = await promisify(execFile)(program, args, { maxBuffer: 10_000_000 });
  return JSON.parse(stdout) as Voyage[];
}

const why = async (node: string): Promise<string> => (await muster.ok('GET', `/nodes/${node}/boot`))[node].why;

it('a machine that was given an address and fetches nothing is told as such', async () => {
  expect(await why('m0')).toMatch(
    /^It was given no address by DHCP and has asked for no file since muster was started/,
  );
  await set({ macs: [mac(0)], asksOnly: 1 });
  await expect
    .poll(() => why('m0'))
    .toMatch(/^It asked DHCP once, \d+ seconds ago, and never fetched a loader or the boot script/);
  await set({ macs: [mac(0)], asksOnly: 1 });
  await expect
    .poll(() => why('m0'))
    .toMatch(/^It asked DHCP twice, last \d+ seconds ago, and never fetched a loader or the boot script/);
  expect(await why('m1')).toMatch(/^It was given no address/);
});

it('two hundred machines boot at once, and each tells only of itself', async () => {
  const voyages = await set({ macs: Array.from({ length: count }, (_, i) => mac(i)) });
  expect(voyages).toEqual(
    Array.from({ length: count }, (_, i) => ({
      address: address(i),
      bootFiles: ['undionly.kpxe', 'http://${next-server}/boot/${netX/mac:hexhyp}.ipxe'],
      sizes: { loader: loader.length, kernel: 30_000, initrd: 40_000, root: 200_000 },
      reports: [403, 204],
    })),
  );
  const boots = Object.values(await muster.ok('GET', '/nodes/all/boot')) as { steps: string[]; why: string }[];
  expect(boots).toHaveLength(count);
  for (const { steps } of boots)
    expect(steps.map((line) => line.split(' ')[2])).toEqual([
      'loader',
      'script',
      'kernel',
      'initrd',
      'root',
      'booting',
      'booted',
    ]);
});

it('that a machine asks for an address again after its boot is told', async () => {
  // The times of DHCP are whole seconds, so it may have asked in the second of its last report.
  await expect
    .poll(
      async () => {
        await set({ macs: [mac(3)], asksOnly: 1 });
        return why('m3');
      },
      { interval: 500, timeout: 30_000 },
    )
    .toMatch(/^It has booted, \d+ seconds ago\. It has asked DHCP (once|twice|\d+ times), .*seconds ago since\.$/);
});
