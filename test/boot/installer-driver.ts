// Run inside a network namespace whose loopback interface has the address ADDRESS: a machine boots the installer of Debian with what
// muster tells it, in the network that QEMU itself makes, by which it is seen to come from that address. Prints what was seen as JSON.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { shippedImageFiles } from '../../src/core/home.ts';
import { startServer } from '../harness/server.ts';
import { hasEnded, startChild } from '../lab/child.ts';

const [address = '', patience = ''] = process.argv.slice(2);
const deadline = Date.now() + Number(patience);
const directory = mkdtempSync(join(tmpdir(), 'muster-installer-'));
const tree = join(directory, 'debian12/x86_64');
const netboot = join(tree, 'install/netboot/debian-installer/amd64');
const screen = join(directory, 'screen');
mkdirSync(netboot, { recursive: true });
for (const name of ['linux', 'initrd.gz'])
  cpSync(`/usr/lib/debian-installer/images/12/amd64/text/debian-installer/amd64/${name}`, join(netboot, name));
// The first thing that it looks for on a mirror; it gets no further, as there are no packages.
mkdirSync(join(tree, 'dists/bookworm'), { recursive: true });
writeFileSync(join(tree, 'dists/bookworm/Release'), 'Origin: Debian\nSuite: stable\nCodename: bookworm\n');
writeFileSync(screen, '');

const server = await startServer({ environment: { MUSTER_BOOT_LISTEN: `${address}:80` } });
await server.ok('PUT', '/globalconf/attrs/installdir', { installdir: directory });
await server.ok('PUT', '/nodes/n1', {
  groups: 'all',
  arch: 'x86_64',
  netboot: 'xnba',
  mac: '52:54:00:00:00:01',
  ip: address,
  // Waiting for routers of IPv6 takes the installer longer than all else.
  addkcmdline: 'ipv6.disable=1 console=ttyS0 quiet DEBIAN_FRONTEND=text',
});
await server.ok('POST', '/osimages/debian', {
  imagetype: 'linux',
  osname: 'Linux',
  osvers: 'debian12',
  osarch: 'x86_64',
  profile: 'compute',
  provmethod: 'install',
  pkgdir: tree,
  pkglist: join(shippedImageFiles, 'debian/install/compute.debian.pkglist'),
});
await server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'debian' });

// What iPXE would do: it is known from here on, so this test does without it.
const fetched = (path: string): Buffer =>
  execFileSync('curl', ['-sf', '--interface', address, `http://${address}/${path}`], { maxBuffer: 2 ** 28 });
const script = fetched('boot/52-54-00-00-00-01.ipxe').toString();
const [, kernel = '', args = ''] = /^kernel .*?http:\/\/[^/]+\/(\S+) (.*)$/m.exec(script) ?? [];
const [, initrd = ''] = /^initrd .*?http:\/\/[^/]+\/(\S+)/m.exec(script) ?? [];
writeFileSync(join(directory, 'kernel'), fetched(kernel));
writeFileSync(join(directory, 'initrd'), fetched(initrd));
const words = [
  '-machine pc,graphics=off -accel tcg,thread=multi -cpu max -m 1280 -display none -nodefaults -no-user-config',
  '-netdev user,id=net,ipv6=off -device virtio-net-pci,netdev=net,mac=52:54:00:00:00:01,romfile= -device virtio-rng-pci',
  `-serial file:${screen} -kernel ${join(directory, 'kernel')} -initrd ${join(directory, 'initrd')} -append`,
];
const machine = startChild('qemu-system-x86_64', [...words.join(' ').split(' '), args], {
  directory,
  logFile: join(directory, 'qemu.log'),
});

/** What it did, without times and sizes. */
const steps = async (): Promise<string[]> => {
  const { n1 } = await server.ok('GET', '/nodes/n1/boot');
  const lines = (n1.steps ?? []) as string[];
  return lines.map((line) => line.replace(/^\S+ /, '').replace(/ \(.*/, ''));
};
const isDone = (seen: readonly string[]): boolean => seen.some((line) => line.endsWith('/Release'));
try {
  let seen = await steps();
  while (!isDone(seen) && Date.now() < deadline && !hasEnded(machine)) {
    await pause(500);
    seen = await steps();
  }
  const status = (await server.ok('GET', '/nodes/n1/attrs/status')).n1.status as string;
  const told = isDone(seen) ? {} : { screen: readFileSync(screen, 'latin1').slice(-4_000), log: machine.log() };
  console.log(JSON.stringify({ steps: seen, status, ...told }));
} finally {
  await machine.stop();
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
}
