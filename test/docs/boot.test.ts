import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import { said } from '../lab/child.ts';
import { writePack } from '../boot/packed-image.ts';
import { labAccounts } from '../lab/addresses.ts';
import { burnRocky } from './fixtures/rocky-medium.ts';
import { runPage } from './run-page.ts';
import type { World } from './world.ts';

const checkout = join(import.meta.dirname, '../..');
const stranger = '10.1.210.7';

/** The images of a medium, of which the diskless one is packed, and the small RAM disk. */
async function makeImages({ server, inside, directory }: World): Promise<void> {
  const install = join(directory, 'install');
  mkdirSync(join(install, 'iso'), { recursive: true });
  inside.run('mount', '--bind', install, '/install');
  burnRocky(join(install, 'iso'), directory, false);
  await server.ok('POST', '/osimages', { iso: '/install/iso/Rocky-9.6-x86_64-dvd.iso' });
  const installer = join(install, 'rocky9.6/x86_64/images/pxeboot');
  mkdirSync(installer, { recursive: true });
  for (const name of ['vmlinuz', 'initrd.img']) writeFileSync(join(installer, name), name);
  const place = join(install, 'netboot/rocky9.6/x86_64/compute');
  mkdirSync(place, { recursive: true });
  const [root, kernel, initrd] = ['root', 'kernel', 'initrd'].map((text) => Buffer.from(text));
  writePack(place, 'rocky9.6-x86_64-netboot-compute', { root: root!, kernel: kernel!, initrd: initrd! });
  const ramdisk = join(server.data, 'ramdisk/x86_64');
  mkdirSync(ramdisk, { recursive: true });
  for (const name of ['kernel', 'initrd']) writeFileSync(join(ramdisk, name), name);
}

/** The BMCs of nodes, whose account is the one for all. */
async function startProcessors({ server, start, environment }: World): Promise<void> {
  const account = labAccounts.administrator;
  await server.ok('PUT', `/tables/passwd/rows/key=ipmi,username=${account.username}`, { password: account.password });
  const to = ['--url', environment['H']!, '--token', server.token, '--ca', `${server.data}/tls/ca.pem`];
  const lab = start(
    'lab',
    process.execPath,
    join(checkout, 'scripts/lab.ts'),
    '--bmcs',
    '4',
    '--prefix',
    '10.3',
    ...to,
  );
  await said(lab, 'The lab is ready');
}

/** A machine that nobody knows has booted, and said who it is. */
async function reportStranger({ server, inside }: World): Promise<void> {
  const site = (discovery: string) => server.ok('PUT', '/globalconf/attrs/discovery', { discovery });
  await server.ok('POST', '/networks/hidden', { net: '10.1.210.0', mask: '255.255.255.0' });
  await site('yes');
  const mac = '52:54:00:00:02:07';
  const report = JSON.stringify({ macs: [{ name: 'eth0', mac }], boot: mac, serial: 'SN17', model: 'E-1' });
  inside.run('/usr/bin/curl', '-sf', '--interface', stranger, 'http://10.1.0.1/boot/discovery', '-d', report);
  await site('');
  await server.ok('DELETE', '/networks/hidden');
}

it('docs/boot.md shows commands that work', { timeout: 300_000 }, () =>
  runPage('docs/boot.md', {
    settings: {
      MUSTER_BOOT_LISTEN: '10.1.0.1:80',
      MUSTER_BOOT_TFTP_LISTEN: '10.1.0.1:69',
      MUSTER_DHCP_DAEMON: 'process',
    },
    addresses: ['10.1.0.1/16', `${stranger}/16`, ...[1, 2, 3, 4].map((number) => `10.3.0.${number}/16`)],
    async ready(world) {
      await makeImages(world);
      await startProcessors(world);
      await reportStranger(world);
    },
  }),
);
