import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isInstalled } from '../../scripts/packages.ts';
import { startServer, temporaryDirectory } from '../harness/server.ts';
import { type LabChild, startChild } from '../lab/child.ts';
import { makeBootNetwork, tapOf } from '../lab/netboot/network.ts';

const firmware = '/usr/share/OVMF/OVMF_CODE_4M.fd';
const needed = ['qemu-system-x86_64', firmware, 'radvd', 'kea-dhcp6'];
/** Each of them is loaded by the one before. */
const loaders = ['/usr/lib/shim/shimx64.efi.signed', '/usr/lib/grub/x86_64-efi-signed/grubnetx64.efi.signed'];
const missing = [...needed, ...loaders].filter((each) => !isInstalled(each));
if (missing.length > 0)
  console.warn(`The test of a machine that boots by IPv6 is left out: ${missing.join(', ')} could not be installed.`);
/** Software emulation on a machine that does other things too. */
const patience = 900_000;
// Kea takes the MAC address of a UEFI from its link-local address only if its maker has given it.
const mac = '00:16:3e:00:06:01';
const [server, own] = ['fd77::1', 'fd77::77'];

it.skipIf(missing.length > 0)(
  'the firmware of a machine boots by IPv6 alone, with the address that is reserved for it',
  {
    timeout: patience + 60_000,
  },
  async () => {
    const network = makeBootNetwork(1);
    const { namespace } = network;
    const directory = temporaryDirectory();
    const children: LabChild[] = [];
    const run = (...words: [string, ...string[]]): LabChild => {
      const [program, ...args] = namespace.command(...words);
      const child = startChild(program, args, { directory, logFile: join(directory, `${words[0]}.log`) });
      children.push(child);
      return child;
    };
    namespace.run('ip', '-4', 'address', 'flush', 'dev', 'br0');
    namespace.run('ip', 'address', 'add', `${server}/64`, 'dev', 'br0', 'nodad');
    namespace.run('sysctl', '-qw', 'net.ipv6.conf.all.forwarding=1');
    const muster = await startServer({
      namespace,
      config: `[boot]\nlisten = ["[${server}]:80"]\ntftpListen = ["[${server}]:69"]\n`,
      environment: { MUSTER_DHCP_DAEMON: 'process' },
    });
    try {
      // Told to ask DHCP, OVMF does so twice, and what loads the loader gets an address of the range.
      writeFileSync(
        join(directory, 'radvd.conf'),
        'interface br0 { AdvSendAdvert on; AdvManagedFlag off; MinRtrAdvInterval 3; MaxRtrAdvInterval 4; prefix fd77::/64 { AdvAutonomous off; }; };\n',
      );
      run('radvd', '-n', '-m', 'stderr', '-p', join(directory, 'radvd.pid'), '-C', join(directory, 'radvd.conf'));
      const site = { master: server, domain: 'cluster.test', dhcpinterfaces: 'br0' };
      for (const [key, value] of Object.entries(site))
        await muster.ok('PUT', `/globalconf/attrs/${key}`, { [key]: value });
      const range = { dynamicrange: 'fd77::1000-fd77::1fff' };
      await muster.ok('POST', '/networks/six', { net: 'fd77::', mask: '/64', tftpserver: server, ...range });
      await muster.ok('PUT', '/nodes/n1', { groups: 'all', arch: 'x86_64', netboot: 'grub2', mac, ip: own });
      await muster.ok('POST', '/services/dhcp');
      await muster.ok('PUT', '/nodes/n1/bootstate', { state: 'boot' });
      cpSync('/usr/share/OVMF/OVMF_VARS_4M.fd', join(directory, 'variables'));
      const words = [
        '-machine q35,accel=tcg,graphics=off -cpu max -m 512 -display none -nodefaults -no-user-config',
        `-drive if=pflash,unit=0,format=raw,readonly=on,file=${firmware}`,
        `-drive if=pflash,unit=1,format=raw,file=${directory}/variables`,
        '-fw_cfg name=opt/org.tianocore/IPv4PXESupport,string=no',
        `-netdev tap,id=net,ifname=${tapOf(0)},script=no,downscript=no`,
        `-device virtio-net-pci,netdev=net,mac=${mac},bootindex=1,romfile= -device virtio-rng-pci`,
        `-serial file:${directory}/screen`,
      ];
      const machine = run('qemu-system-x86_64', ...words.join(' ').split(' '));
      const told = async (): Promise<string> => {
        const { steps, why } = (await muster.ok('GET', '/nodes/n1/boot')).n1;
        return `${(steps as string[]).join('\n')}\n${why}\n${machine.log()}`;
      };
      await expect.poll(told, { timeout: patience, interval: 1_000 }).toMatch(/tftp script boot\/|asked for from/);
      for (const step of ['loader shimx64.efi', 'loader grubx64.efi', `script boot/${mac}.grub`])
        expect(await told(), readFileSync(join(directory, 'screen'), 'latin1').slice(-2_000)).toContain(
          ` tftp ${step}`,
        );
    } finally {
      for (const child of children.toReversed()) await child.stop();
      await muster.stop();
      network.remove();
      rmSync(directory, { recursive: true, force: true });
    }
  },
);
