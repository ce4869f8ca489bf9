import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isInstalled } from '../../scripts/packages.ts';
import { shippedImageFiles } from '../../src/core/home.ts';
import { startServer, temporaryDirectory } from '../harness/server.ts';
import { startChild } from '../lab/child.ts';
import { machineArch } from '../lab/netboot/machine.ts';
import { bootNet, machineAddress, makeBootNetwork, tapOf } from '../lab/netboot/network.ts';

/** A machine of the architecture that this one has not, with UEFI, and the loader that Debian has for it. */
const other = {
  x86_64: {
    arch: 'aarch64',
    debian: 'arm64',
    machine: 'virt -cpu cortex-a57',
    code: '/usr/share/AAVMF/AAVMF_CODE.fd',
    variables: '/usr/share/AAVMF/AAVMF_VARS.fd',
    console: 'ttyAMA0',
    loaders: ['shimaa64.efi', 'grubaa64.efi'],
  },
  aarch64: {
    arch: 'x86_64',
    debian: 'amd64',
    machine: 'q35 -cpu max',
    code: '/usr/share/OVMF/OVMF_CODE_4M.fd',
    variables: '/usr/share/OVMF/OVMF_VARS_4M.fd',
    console: 'ttyS0',
    loaders: ['shimx64.efi', 'grubx64.efi'],
  },
}[machineArch];
const installer = `/usr/lib/debian-installer/images/12/${other.debian}/text/debian-installer/${other.debian}`;
const canRun = [`qemu-system-${other.arch}`, other.code, `${installer}/linux`].every(isInstalled);
if (!canRun)
  console.warn(`The test with a machine of ${other.arch} is left out: what it needs could not be installed.`);

/** Software emulation on a machine that does other things too. */
const patience = 900_000;
const mac = '52:54:00:bc:02:01';

it.skipIf(!canRun)(
  'a machine of another architecture starts the installer as its script tells it',
  {
    timeout: patience + 60_000,
  },
  async () => {
    const network = makeBootNetwork(1);
    const { namespace, address } = network;
    const directory = temporaryDirectory();
    const tree = join(directory, 'debian12', other.arch);
    const netboot = join(tree, 'install/netboot/debian-installer', other.debian);
    mkdirSync(netboot, { recursive: true });
    cpSync(join(installer, 'linux'), join(netboot, 'linux'));
    // Its size says nothing about the kernel, and takes emulated GRUB a minute.
    cpSync(`${installer}/grub/font.pf2`, join(netboot, 'initrd.gz'));
    cpSync(other.variables, join(directory, 'variables'));
    const server = await startServer({
      namespace,
      config: `[boot]\nlisten = ["${address}:80"]\ntftpListen = ["${address}:69"]\n`,
      environment: { MUSTER_DHCP_DAEMON: 'process' },
    });
    let machine;
    try {
      const site = { installdir: directory, master: address, domain: 'cluster.test', dhcpinterfaces: 'br0' };
      for (const [key, value] of Object.entries(site))
        await server.ok('PUT', `/globalconf/attrs/${key}`, { [key]: value });
      await server.ok('POST', '/networks/boot', { ...bootNet, gateway: address, tftpserver: address });
      await server.ok('PUT', '/nodes/n1', {
        groups: 'all',
        arch: other.arch,
        netboot: 'grub2',
        mac,
        ip: machineAddress(0),
        addkcmdline: `console=${other.console} panic=-1`,
      });
      await server.ok('POST', '/osimages/debian', {
        imagetype: 'linux',
        osname: 'Linux',
        osvers: 'debian12',
        osarch: other.arch,
        profile: 'compute',
        provmethod: 'install',
        pkgdir: tree,
        pkglist: join(shippedImageFiles, 'debian/install/compute.debian.pkglist'),
      });
      await server.ok('POST', '/services/dhcp');
      await server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'debian' });
      const words = [
        `-machine ${other.machine} -accel tcg -m 512 -display none -nodefaults -no-user-config -no-reboot`,
        `-drive if=pflash,unit=0,format=raw,readonly=on,file=${other.code}`,
        `-drive if=pflash,unit=1,format=raw,file=${directory}/variables`,
        '-fw_cfg name=opt/org.tianocore/IPv6PXESupport,string=no',
        `-netdev tap,id=net,ifname=${tapOf(0)},script=no,downscript=no`,
        `-device virtio-net-pci,netdev=net,mac=${mac},bootindex=1,romfile= -device virtio-rng-pci`,
        `-serial file:${directory}/screen`,
      ];
      const [program, ...args] = namespace.command(`qemu-system-${other.arch}`, ...words.join(' ').split(' '));
      machine = startChild(program, args, { directory, logFile: join(directory, 'log') });
      const screen = (): string => readFileSync(join(directory, 'screen'), 'latin1');
      await expect
        .poll(() => `${screen().slice(-4_000)}${machine!.log()}`, { timeout: patience, interval: 500 })
        .toMatch(/Kernel command line: .*muster|Kernel panic/);
      expect(screen()).toMatch(/Kernel command line: .* url=http:\/\/10\.77\.0\.1\/boot\/answer\/n1\//);
      const { steps } = (await server.ok('GET', '/nodes/n1/boot')).n1;
      const seen = (steps as string[]).map((line) => line.replace(/^\S+ /, '').replace(/ \(.*/, ''));
      const files = `tftp file boot/install/debian12/${other.arch}/install/netboot/debian-installer/${other.debian}`;
      for (const step of [
        ...other.loaders.map((name) => `tftp loader ${name}`),
        `tftp script boot/${mac}.grub`,
        `${files}/linux`,
        `${files}/initrd.gz`,
      ])
        expect(seen).toContain(step);
    } finally {
      await machine?.stop();
      await server.stop();
      network.remove();
      rmSync(directory, { recursive: true, force: true });
    }
  },
);
