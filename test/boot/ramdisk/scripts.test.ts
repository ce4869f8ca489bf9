import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { choosingLines } from '../../../src/boot/answers/wanted-disk.ts';
import { Site } from '../answers/site.ts';
import { encodedWord } from '../../../src/boot/scripts/words.ts';
import { openRamdisk, type Ramdisk } from './in-ramdisk.ts';

const mebibyte = 1_048_576;

interface Disk {
  /** Of one that is empty but for this: a byte at a place of its five MiB. */
  readonly used?: number;
  readonly own?: boolean;
  /** It cannot be read. */
  readonly broken?: boolean;
  readonly removable?: boolean;
  readonly usb?: boolean;
  readonly readOnly?: boolean;
  readonly serial?: string;
  readonly wwid?: string;
  /** MiB, five as a rule. */
  readonly size?: number;
}

/** Disks as the kernel shows them. */
function putDisks(ramdisk: Ramdisk, disks: Readonly<Record<string, Disk>>): void {
  for (const [name, { used, own, broken, removable, usb, readOnly, serial, wwid, size = 5 }] of Object.entries(disks)) {
    const content = Buffer.alloc(size * mebibyte);
    if (used !== undefined) content[used] = 1;
    const device = `sys/devices/pci0/${usb ? 'usb1/' : ''}${name}`;
    mkdirSync(join(ramdisk.top, device), { recursive: true });
    ramdisk.put({
      [broken ? `dev/${name}/file` : `dev/${name}`]: content,
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
    ['the one of a name as the kernel writes it', { sda: { wwid: 'eui.0025AB' } }, 'wwn=eui.0025ab', '/dev/sda'],
    ['none without a number', { sda: { serial: '\n' } }, 'serial=0x', ''],
    ['no option of grep', { sda: { serial: 'S-1' } }, 'serial=-V', ''],
    ['none that cannot be read', { sda: { broken: true }, sdb: {} }, 'auto', '/dev/sdb'],
    ['no path that is no disk', { sda: {} }, '/dev/sdz', ''],
  ])('%s', async (_name, disks, wanted, found) => {
    const ramdisk = openRamdisk();
    putDisks(ramdisk, disks);
    expect((await ramdisk.run(`disk='${wanted}'; find_disk`)).trim()).toBe(found);
  });

  it.each([
    ['the first that is fixed', { sda: { removable: true }, sdb: { usb: true }, sdc: {}, sdd: {} }, '', 'sdc'],
    ['not the largest', { sda: {}, sdb: { size: 6 } }, '', 'sda'],
    ['the one of a path', { sda: {}, sdb: {} }, '/dev/sdb', 'sdb'],
    ['the one of a serial number', { sda: { serial: 'S-12' }, sdb: { serial: 'S-1 ' } }, 'serial=S-1', 'sdb'],
    ['the one of a world wide name', { sda: {}, sdb: { wwid: 'naa.5000ABCD' } }, 'wwn=0x5000abcd', 'sdb'],
    ['none', { sda: {} }, 'serial=S-1', 'There is no disk to install to: serial=S-1 (osvolume).'],
  ] as const)('by an installer is %s', async (_name, disks, wanted, found) => {
    const ramdisk = openRamdisk();
    putDisks(ramdisk, disks);
    expect((await ramdisk.run(`wanted='${wanted}'\n${choosingLines().join('\n')}\necho "$disk"`)).trim()).toBe(found);
  });

  it.each([
    ['ubuntu24.04.3', 'autoinstall.yaml', 'autoinstall.yaml'],
    ['sles15.6', 'tmp/profile/autoinst.xml', 'tmp/profile/modified/autoinst.xml'],
  ])('is what the answers for %s name once the machine has found it', async (os, before, after) => {
    const ramdisk = openRamdisk();
    putDisks(ramdisk, { sda: { removable: true }, sdb: {}, sdc: { size: 6 } });
    const { 'disk.sh': script = '' } = await new Site(os).answers();
    ramdisk.put({ [before]: 'use /dev/muster-chosen', 'disk.sh': script });
    expect(await ramdisk.run('sh /disk.sh')).toBe('');
    expect(readFileSync(join(ramdisk.top, after), 'utf8').trim()).toBe('use /dev/sdb');
  });

  it('is none where several have the number that names it', async () => {
    const ramdisk = openRamdisk();
    putDisks(ramdisk, { nvme0n1: { serial: 'S-1' }, nvme0n2: { serial: 'S-1' } });
    const lines = 'stop() { echo "$*"; exit; }; disk=serial=S-1; choose_disk; echo "took $disk"';
    expect(await ramdisk.run(lines)).toBe(
      'Several disks are called serial=S-1 (osvolume): /dev/nvme0n1 /dev/nvme0n2. Nothing was written; name one of them by its wwn or its path.\n',
    );
  });

  it('is passed over if it is too small and nobody has named it', async () => {
    const ramdisk = openRamdisk();
    putDisks(ramdisk, { sda: { size: 5 }, sdb: { size: 6 } });
    expect((await ramdisk.run(`disk=auto needed=${6 * 1024}; find_disk`)).trim()).toBe('/dev/sdb');
  });

  it.each([
    [5, 'report failed /dev/sda is too small for the image: it has 5 MiB, and 6 MiB are needed. Nothing was written'],
    [6, 'large enough'],
  ])('with %s MiB is measured before anything of it is overwritten', async (size, said) => {
    const ramdisk = openRamdisk();
    putDisks(ramdisk, { sda: { size } });
    const lines = `report() { echo "report $*"; }; stop() { report failed "$*"; exit; }; needed=${6 * 1024}; check_size /dev/sda; echo large enough`;
    expect(await ramdisk.run(lines)).toContain(said);
  });

  it('needs what the files of the image take, and more', async () => {
    const ramdisk = openRamdisk();
    const files = 16 * 1024;
    expect((await ramdisk.run(`in_image() { printf '${files}\\t/\\n'; }; space_needed`)).trim()).toBe(
      String(files + files / 16 + 300 * 1024),
    );
  });
});

describe('the layout of a disk', () => {
  const layout = 'partition:256:ext4:/boot:boot,partition:64:swap::swap,volume:1024:ext4:/:root,volume:0:xfs:/srv:srv';
  const stubs = 'report() { echo "report $*"; }; stop() { report failed "$*"; exit; }';

  it('is a table of partitions, the last of which has the volumes', async () => {
    const table = await openRamdisk().run(`layout=${layout}; table`);
    expect(table.split('\n').map((line) => line.replace(/type=[^,]*, /, ''))).toEqual([
      'label: gpt',
      'size=1MiB, name=muster-bios',
      'size=256MiB, name=muster-efi',
      'size=256MiB, name=muster-boot',
      'size=64MiB, name=muster-swap',
      'name=muster-root',
      '',
    ]);
    expect(table).not.toContain('A19D880F');
    expect((await openRamdisk().run(`layout=${layout} mirror=auto; table`)).match(/A19D880F/g)).toHaveLength(3);
    expect(await openRamdisk().run('layout=; . /lib/muster/layout; table')).toMatch(
      /efi\ntype=0FC63DAF.*, name=muster-root\n$/,
    );
  });

  it('needs room for all that has a size, and for what the image has where the rest is', async () => {
    const run = `${stubs}; in_image() { printf '16384\\t/\\n'; }; layout=${layout}; space_needed`;
    expect((await openRamdisk().run(run)).trim()).toBe(String((300 + 256 + 64 + 1024) * 1024 + 16384 + 1024));
  });

  it('is refused if a part of it is too small for what the image has there, before anything is written', async () => {
    const du = `in_image() { case "$*" in *' /') echo "$*" > /run/asked; printf '2000000\\t/\\n' ;; *) echo 1 ;; esac; }`;
    const said = await openRamdisk().run(`${stubs}; ${du}; layout=${layout}; check_sizes`);
    expect(said).toContain('report failed 1024 MiB for / (partitionfile) are too little');
    const asked = await openRamdisk().run(`${du}; layout=${layout}; files_at / > /dev/null; cat /run/asked`);
    expect(asked.trim()).toBe('du -xsk --exclude=/boot --exclude=/srv /');
  });

  it('takes no second disk that is the first', async () => {
    const ramdisk = openRamdisk();
    putDisks(ramdisk, { sda: {}, sdb: {} });
    const lines = (mirror: string) =>
      `${stubs}; layout=${layout} mirror=${mirror} disk=/dev/sda needed=0; choose_second; echo "$disk $second"`;
    expect((await ramdisk.run(lines('auto'))).trim()).toBe('/dev/sda /dev/sdb');
    const other = openRamdisk();
    putDisks(other, { sda: { serial: 'S1' }, sdb: { used: 512 } });
    expect(await other.run(`sleep() { :; }; ${lines('serial=S1')}`)).toContain(
      'There is no disk serial=S1 (partitionfile).',
    );
    expect(await other.run(`sleep() { :; }; ${lines('auto')}`)).toContain('none is named (partitionfile)');
  });

  it('finds a volume group of the same name on another disk before anything is written', async () => {
    const vgs = "in_image() { printf '  system /dev/sda3\\n  system /dev/sdc1\\n  data /dev/sdd\\n'; }";
    const run = `${stubs}; ${vgs}; layout=${layout} disk=/dev/sda; check_group; echo fine`;
    expect(await openRamdisk().run(run)).toContain('a volume group system on another disk already: /dev/sdc1.');
    expect(await openRamdisk().run(run.replaceAll('/dev/sdc1', '/dev/sda4'))).toContain('fine');
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

  it('has the time zone of the site, unless the image has one of its own', async () => {
    const zone = { 'root/usr/share/zoneinfo/Europe/Vienna': 'tz' };
    const settledIn = async (files: Record<string, string>): Promise<string> => {
      const ramdisk = openRamdisk();
      ramdisk.put({ 'root/etc/.keep': '', 'dev/console': '', ...zone, ...files });
      await ramdisk.run('tree=/root timezone=Europe/Vienna; settle_timezone');
      return (await ramdisk.run('readlink /root/etc/localtime; cat /root/etc/timezone 2> /dev/null')).trim();
    };
    const vienna = '/usr/share/zoneinfo/Europe/Vienna';
    expect(await settledIn({})).toBe(vienna);
    const utc = '->/usr/share/zoneinfo/Etc/UTC';
    expect(await settledIn({ 'root/etc/localtime': utc, 'root/etc/timezone': 'Etc/UTC' })).toBe(
      `${vienna}\nEurope/Vienna`,
    );
    expect(await settledIn({ 'root/etc/localtime': '->../usr/share/zoneinfo/Asia/Tokyo' })).toContain('Tokyo');
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
