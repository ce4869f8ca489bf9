import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodedWord } from '../../../src/boot/scripts/words.ts';
import { openRamdisk, type Ramdisk } from './in-ramdisk.ts';

const mebibyte = 1_048_576;

interface Disk {
  /** Of one that is empty but for this: a byte at a place of its five MiB. */
  readonly used?: number;
  readonly own?: boolean;
  readonly removable?: boolean;
  readonly usb?: boolean;
  readonly readOnly?: boolean;
  readonly serial?: string;
  readonly wwid?: string;
}

/** Disks as the kernel shows them. */
function putDisks(ramdisk: Ramdisk, disks: Readonly<Record<string, Disk>>): void {
  for (const [name, { used, own, removable, usb, readOnly, serial, wwid }] of Object.entries(disks)) {
    const content = Buffer.alloc(5 * mebibyte);
    if (used !== undefined) content[used] = 1;
    const device = `sys/devices/pci0/${usb ? 'usb1/' : ''}${name}`;
    mkdirSync(join(ramdisk.top, device), { recursive: true });
    ramdisk.put({
      [`dev/${name}`]: content,
      [`sys/block/${name}/size`]: String(content.length / 512),
      [`sys/block/${name}/ro`]: readOnly ? '1' : '0',
      [`sys/block/${name}/removable`]: removable ? '1' : '0',
      [`sys/block/${name}/device`]: `->/${device}`,
      ...(serial === undefined ? {} : { [`sys/block/${name}/serial`]: serial }),
      ...(wwid === undefined ? {} : { [`${device}/wwid`]: wwid }),
      ...(own ? { [`sys/block/${name}/${name}3/uevent`]: 'DEVTYPE=partition\nPARTNAME=muster-root\n' } : {}),
    });
  }
}

describe('the disk that an image is written to', () => {
  const first = 512;
  it.each<[string, Record<string, Disk>, string, string]>([
    ['the first that is empty', { sda: {}, sdb: {} }, 'auto', '/dev/sda'],
    ['not one that has something at its beginning', { sda: { used: first }, sdb: {} }, 'auto', '/dev/sdb'],
    ['nor at its end', { sda: { used: 5 * mebibyte - first }, sdb: {} }, 'auto', '/dev/sdb'],
    ['rather one that muster wrote before', { sda: {}, sdb: { used: first, own: true } }, 'auto', '/dev/sdb'],
    ['none that can be taken out', { sda: { removable: true }, sdb: { usb: true } }, 'auto', ''],
    ['none that cannot be written', { sda: { readOnly: true } }, 'auto', ''],
    ['none at all where all are in use', { nvme0n1: { used: first } }, 'auto', ''],
    ['no memory and no loop', { loop0: {}, zram0: {}, sr0: {} }, 'auto', ''],
    [
      'the one of a serial number, whatever is on it',
      { sda: {}, sdb: { used: first, serial: 'S-1 ' } },
      'serial=S-1',
      '/dev/sdb',
    ],
    ['no other than that', { sda: { serial: 'S-12' } }, 'serial=S-1', ''],
    ['the one of a world wide name', { sda: {}, sdb: { wwid: 'naa.5000ABCD' } }, 'wwn=0x5000abcd', '/dev/sdb'],
    ['no path that is no disk', { sda: {} }, '/dev/sdz', ''],
  ])('%s', async (_name, disks, wanted, found) => {
    const ramdisk = openRamdisk();
    putDisks(ramdisk, disks);
    expect((await ramdisk.run(`disk='${wanted}'; find_disk`)).trim()).toBe(found);
  });
});

it('a command of the boot line is what it was before it was made one word', async () => {
  const command = `a  "b" 'c' | d; { $e && *; } > \\f\\n % %41 #é`;
  expect(await openRamdisk().run(`decoded '${encodedWord(command)}'`)).toBe(command);
});

describe('what a machine tells of itself', () => {
  it('is JSON, whatever its maker has put into it', async () => {
    const ramdisk = openRamdisk();
    putDisks(ramdisk, { sda: { serial: 'D1' } });
    mkdirSync(join(ramdisk.top, 'sys/devices/nic'), { recursive: true });
    ramdisk.put({
      'proc/cpuinfo': 'processor : 0\nprocessor : 1\n',
      'sys/class/dmi/id/product_serial': '  A"B\\C\u0001D  \n',
      'sys/class/dmi/id/product_uuid': '00000000-0000-4000-8000-000000000001\n',
      'sys/class/dmi/id/sys_vendor': 'Acme, Inc.\n',
      'sys/class/net/eth0/address': '52:54:00:00:00:01\n',
      'sys/class/net/eth0/device': '->/sys/devices/nic',
      'sys/class/net/lo/address': '00:00:00:00:00:00\n',
    });
    const told = JSON.parse(await ramdisk.run('connected=eth0 destiny=discover; describe_machine'));
    expect(told).toEqual({
      arch: execFileSync('uname', ['-m'], { encoding: 'utf8' }).trim(),
      boot: '52:54:00:00:00:01',
      state: 'discover',
      uuid: '00000000-0000-4000-8000-000000000001',
      serial: 'A"B\\CD',
      manufacturer: 'Acme, Inc.',
      model: '',
      cpus: 2,
      memoryMiB: 2000,
      macs: [{ name: 'eth0', mac: '52:54:00:00:00:01' }],
      disks: [{ name: 'sda', bytes: 5 * mebibyte, serial: 'D1', model: '' }],
      bmc: {},
      lldp: [],
    });
  });
});

describe('a root that is made a node’s own', () => {
  const settled = async (files: Record<string, string>, place = '/root/etc'): Promise<Ramdisk> => {
    const ramdisk = openRamdisk();
    ramdisk.put({ 'root/etc/.keep': '', 'sys/class/net/eth0/address': '52:54:00:00:00:01\n', ...files });
    ramdisk.put({ 'etc/resolv.conf': 'nameserver 10.0.0.1\n' });
    const words = 'hostname=n7 connected=eth0 report=http://10.0.0.1/boot/report/n7/T';
    expect(await ramdisk.run(`${words}; settle /root ${place}`)).toBe('');
    return ramdisk;
  };
  const read = ({ top }: Ramdisk, path: string): string => readFileSync(join(top, path), 'utf8');

  it('has its name and its resolver, and DHCP on the card that it booted from', async () => {
    const ramdisk = await settled({ 'root/lib/systemd/systemd-networkd': '' });
    expect(read(ramdisk, 'root/etc/hostname')).toBe('n7\n');
    expect(read(ramdisk, 'root/etc/resolv.conf')).toBe('nameserver 10.0.0.1\n');
    const network = read(ramdisk, 'root/etc/systemd/network/50-muster.network');
    expect(network).toContain('MACAddress=52:54:00:00:00:01\n[Network]\nDHCP=ipv4\n');
  });

  it('keeps a network that the image brings along', async () => {
    const own = { 'root/lib/systemd/systemd-networkd': '', 'root/etc/systemd/network/10-own.network': '' };
    const ramdisk = await settled(own);
    expect(() => read(ramdisk, 'root/etc/systemd/network/50-muster.network')).toThrow('ENOENT');
    const interfaces = 'auto lo\niface lo inet loopback\nauto ens3\niface ens3 inet dhcp\n';
    const other = await settled({ 'root/sbin/ifup': '', 'root/etc/network/interfaces': interfaces });
    expect(() => read(other, 'root/etc/network/interfaces.d/muster')).toThrow('ENOENT');
  });

  it('gets a network by ifupdown where that is there', async () => {
    const ramdisk = await settled({
      'root/sbin/ifup': '',
      'root/etc/network/interfaces': 'source interfaces.d/*\n',
      'proc/cmdline': 'net.ifnames=0\n',
    });
    expect(read(ramdisk, 'root/etc/network/interfaces.d/muster')).toBe('auto eth0\niface eth0 inet dhcp\n');
  });

  it('tells muster that it is up: from memory without a trace in the image, from a disk once', async () => {
    const onDisk = await settled({});
    expect(read(onDisk, 'root/etc/systemd/system/muster-first-boot.service')).toContain(
      '/bin/sh /var/lib/muster/first-boot /var/lib/muster',
    );
    expect(read(onDisk, 'root/var/lib/muster/report')).toBe('http://10.0.0.1/boot/report/n7/T\n');
    const inMemory = await settled({}, '/run');
    expect(read(inMemory, 'run/systemd/system/muster-first-boot.service')).toContain(
      '/bin/sh /run/muster/first-boot /run/muster',
    );
    expect(() => read(inMemory, 'root/var/lib/muster/report')).toThrow('ENOENT');
  });
});

it('a task on the command line is what was written, blanks and all', async () => {
  const ramdisk = openRamdisk();
  const text = 'echo "a  b" 100% \\n > /tmp/x';
  const encoded = text.replaceAll('%', '%25').replaceAll(' ', '%20');
  expect(await ramdisk.run(`decoded '${encoded}'`)).toBe(text);
});
