import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isInstalled } from '../../../scripts/packages.ts';
import { type LabChild, startChild } from '../../lab/child.ts';
import { makeWire, type Wire } from '../../lab/dhcp.ts';
import { mac, machineWith, node, openSetting, type Setting } from './setting.ts';

const uefi = '/usr/share/ovmf/OVMF.fd';
const bios = isInstalled('qemu-system-x86_64') && isInstalled('/usr/lib/ipxe/qemu/pxe-virtio.rom');

/** Machines under software emulation that boot from the network, on a busy computer: this takes a while. */
describe.skipIf(!bios)('firmware that boots from the network', { timeout: 400_000 }, () => {
  let wire: Wire;
  let setting: Setting;
  let directory: string;
  let server: LabChild;
  const file = (name: string): string => join(directory, name);
  const shown = (name: string): string => (existsSync(file(name)) ? readFileSync(file(name), 'latin1') : '');

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'muster-firmware-'));
    wire = makeWire(['10.77.0.1/16']);
    const { client } = wire;
    client.run('ip', 'link', 'add', 'bridge0', 'type', 'bridge');
    client.run('ip', 'link', 'set', wire.clientNic, 'master', 'bridge0');
    client.run('ip', 'link', 'set', 'bridge0', 'up');
    for (const tap of ['tap1', 'tap2']) {
      client.run('ip', 'tuntap', 'add', tap, 'mode', 'tap');
      client.run('ip', 'link', 'set', tap, 'master', 'bridge0', 'up');
    }
    const program = join(import.meta.dirname, '../../lab/boot-server.ts');
    const text = 'NETBOOT-OK ${hostname} ${net0/ip} ${netX/mac:hexhyp}';
    const [command, ...args] = wire.server.command(process.execPath, program, '10.77.0.1', text);
    server = startChild(command, args, { directory, logFile: file('server') });
    setting = await openSetting(machineWith(wire.serverNic, ['10.77.0.1']), { prefix: wire.server.command('env') });
    await setting.store.put(
      ['networks', { netname: 'mgmt', net: '10.77.0.0', mask: '255.255.0.0' }],
      ...node('n1', '10.77.1.1', mac(1)),
      ...node('n2', '10.77.1.2', mac(2)),
    );
    await setting.configure();
    await setting.reserve('n1', 'n2');
    await vi.waitFor(() => expect(shown('server')).toContain('ready'), { timeout: 30_000 });
  });
  afterAll(async () => {
    await setting?.close();
    await server?.stop();
    wire?.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  const machine = (index: number, device: string, ...more: string[]): LabChild => {
    const nic = [
      '-netdev',
      `tap,id=net,ifname=tap${index},script=no,downscript=no`,
      '-device',
      `virtio-net-pci,netdev=net,mac=${mac(index)},bootindex=1${device}`,
    ];
    const base = [
      '-machine',
      'pc,accel=tcg,graphics=off',
      '-cpu',
      'max',
      '-m',
      '256',
      '-display',
      'none',
      '-nodefaults',
      '-no-user-config',
    ];
    const serial = ['-serial', `file:${file(`screen${index}`)}`];
    const [command, ...args] = wire.client.command('qemu-system-x86_64', ...base, ...nic, ...serial, ...more);
    return startChild(command, args, { directory, logFile: file(`qemu${index}`) });
  };

  it('gets the address, and by iPXE the script under its MAC address', async () => {
    const vm = machine(1, '');
    try {
      const hyphens = mac(1).replaceAll(':', '-');
      await expect
        .poll(() => shown('screen1') + vm.log(), { timeout: 180_000, interval: 500 })
        .toContain(`NETBOOT-OK n1 10.77.1.1 ${hyphens}`);
      expect(shown('server')).toContain(`http /boot/${hyphens}.ipxe`);
    } finally {
      await vm.stop();
    }
  });

  it.skipIf(!existsSync(uefi))('is told to load iPXE for UEFI where it is UEFI', async () => {
    // Without the card's own iPXE the firmware's client is used.
    const vm = machine(2, ',romfile=', '-bios', uefi, '-device', 'virtio-rng-pci');
    try {
      await expect
        .poll(() => shown('server') + vm.log(), { timeout: 180_000, interval: 500 })
        .toContain('tftp ipxe.efi');
    } finally {
      await vm.stop();
    }
  });
});
