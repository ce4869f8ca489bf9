import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isInstalled } from '../../scripts/packages.ts';
import { ramdiskTools } from '../../src/images/build/ramdisk-tools.ts';
import { temporaryDirectory } from '../harness/server.ts';
import { machineArch } from '../lab/netboot/machine.ts';
import { openRamdisk } from './ramdisk/in-ramdisk.ts';
import { type BootLab, startBootLab } from './boot-client.ts';

/** What runs in the RAM disk here has the address of this machine. */
const address = '127.0.0.1';
const script = '/boot/52-54-00-00-00-41.ipxe';

describe.skipIf(!isInstalled('dropbear'))('a node in the state shell', () => {
  let lab: BootLab;
  let port: number;
  beforeAll(async () => {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    ({ port } = probe.address() as AddressInfo);
    probe.close();
    const bootDirectory = temporaryDirectory();
    const ramdisk = join(bootDirectory, 'ramdisk', machineArch);
    mkdirSync(ramdisk, { recursive: true });
    for (const name of ['kernel', 'initrd']) writeFileSync(join(ramdisk, name), name);
    lab = await startBootLab({
      MUSTER_BOOT_DIRECTORY: bootDirectory,
      MUSTER_REMOTE_PORT: String(port),
      // The server of the RAM disk shares the processors with all other tests.
      MUSTER_REMOTE_CONNECT_SECONDS: '60',
    });
    await lab.server.ok('PUT', '/nodes/n1', {
      groups: 'all',
      netboot: 'xnba',
      arch: machineArch,
      mac: '52:54:00:00:00:41',
      ip: address,
    });
    await lab.server.ok('PUT', '/tables/sshhostkey/rows/node=n1', {
      hostkey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEdr',
    });
    await lab.server.ok('PUT', '/nodes/n1/bootstate', { state: 'shell' });
  });
  afterAll(() => lab.stop());

  const shell = async (command: string): Promise<unknown> =>
    (await lab.server.ok('POST', '/nodes/n1/nodeshell', { command })).n1;

  it('can be logged in to by muster, by the key of this boot, and its own key is kept for later', async () => {
    const { text } = await lab.from(address, script);
    const report = /muster\.report=(\S+)/.exec(text)![1]!;
    const path = new URL(report).pathname.replace('/report/', '/authorized-keys/');
    expect((await lab.from(address, path)).text).toMatch(/^ssh-ed25519 \S+/);
    expect((await lab.from('127.0.0.42', path)).status).toBe(403);
    const { steps } = (await lab.server.ok('GET', '/nodes/n1/boot')).n1;
    expect(steps.at(-1)).toMatch(/ http file boot\/authorized-keys\/n1 \(\d+ bytes\)$/);
    const { top, put, run } = openRamdisk();
    put(Object.fromEntries(ramdiskTools(join(top, 'newroot'), machineArch)));
    for (const [name, minor] of Object.entries({ null: '3', urandom: '9' }))
      execFileSync('mknod', ['-m', '666', join(top, 'dev', name), 'c', '1', minor]);
    onTestFinished(async () => {
      process.kill(Number(readFileSync(join(top, 'run/dropbear.pid'), 'utf8')));
      await run('umount /dev/pts');
    });
    const told = await run(
      `say() { echo "$*"; }; report=${report} ssh_port=${port}; serve_ssh > /run/log 2>&1; cat /run/log`,
    );
    expect(told).toMatch(/^hostkey ssh-ed25519 \S+$/m);
    expect(await shell('echo here; ls /lib/muster/ssh')).toEqual(['here', '/lib/muster/ssh']);
    const { sshhostkey } = await lab.server.ok('GET', '/tables/sshhostkey/rows/node=n1');
    expect(sshhostkey[0].hostkey).toBe('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEdr');
    // As long as it runs; its next boot ends that.
    await lab.server.ok('PUT', '/nodes/n1/bootstate', { state: 'standby' });
    expect(await shell('echo still')).toEqual(['still']);
    const passing = async (): Promise<string> =>
      (await lab.server.ok('GET', '/tables/boottoken/rows/node=n1')).boottoken[0].hostkey;
    expect(told).toContain(`hostkey ${await passing()}`);
    await lab.from('127.0.0.42', script);
    expect(told).toContain(`hostkey ${await passing()}`);
    await lab.from(address, script);
    expect(await passing()).toBeFalsy();
  });

  it('loses the key of its RAM disk when it is sent to its disk', async () => {
    await lab.server.ok('PUT', '/nodes/n1/bootstate', { state: 'shell' });
    const report = new URL(/muster\.report=(\S+)/.exec((await lab.from(address, script)).text)![1]!).pathname;
    const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEdrN6HDMiDqbRqJdT1yBGvcHyfl2G4sF6RJZn8o6rZn';
    expect((await lab.from(address, report, { method: 'POST', body: `hostkey ${key}` })).status).toBe(204);
    const row = async () => (await lab.server.ok('GET', '/tables/boottoken/rows/node=n1')).boottoken[0];
    expect((await row()).hostkey).toBe(key);
    await lab.server.ok('PUT', '/nodes/n1/bootstate', { state: 'boot' });
    expect((await row()).hostkey).toBe(key);
    await lab.from(address, script);
    expect((await row()).hostkey).toBeFalsy();
  });

  it('is called as its node is', async () => {
    await lab.server.ok('PUT', '/nodes/n1/bootstate', { state: 'shell' });
    expect((await lab.from(address, script)).text).toContain(' muster.hostname=n1 ');
  });
});
