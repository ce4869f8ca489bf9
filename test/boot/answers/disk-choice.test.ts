import { describe, expect, it } from 'vitest';
import { type FakeDisk, runWithDisks } from './fake-machine.ts';
import { Site } from './site.ts';

const disks: readonly FakeDisk[] = [
  { name: 'loop0' },
  { name: 'sda', isRemovable: true },
  { name: 'sdb', isReadOnly: true },
  { name: 'blank', files: { serial: '\n' } },
  { name: 'sdc', files: { 'device/vpd_pg80': '\0\x80\0\x14  Z1A2B3C4', 'device/wwid': 'naa.5000c500a1b2c3d4\n' } },
  { name: 'nvme0n1', files: { wwid: 'eui.0025385b71b00001\n', 'device/serial': 'S4EVNX0M123456      \n' } },
  // As virtio has it: no end of line.
  { name: 'vda', files: { serial: 'SYSTEM', wwid: 'FIRST', 'device/serial': 'SECOND' } },
];

const named: readonly (readonly [osvolume: string, disk: string])[] = [
  ['/dev/sdc', 'sdc'],
  ['serial=Z1A2B3C4', 'sdc'],
  ['wwn=0x5000c500a1b2c3d4', 'sdc'],
  ['wwn=0x5000C500A1B2C3D4', 'sdc'],
  ['serial=S4EVNX0M123456', 'nvme0n1'],
  ['wwn=0025385b71b00001', 'nvme0n1'],
  ['wwn=eui.0025385b71b00001', 'nvme0n1'],
  ['wwn=naa.5000c500a1b2c3d4', 'sdc'],
  ['serial=SYSTEM', 'vda'],
  ['wwn=first', 'vda'],
  ['serial=SECOND', 'vda'],
];
/** Parts of the numbers, and a disk that cannot be written to, are not what was named. */
const wrong = [
  '/dev/sdd',
  '/dev/sdb',
  'serial=SYS',
  'serial=SYSTEMFIRST',
  'serial=Z1A2B3C',
  'wwn=0x5000c500a1b2c3d',
  'serial=-V',
  'serial=--help',
];

const answersOf = (os: string, osvolume: string) =>
  new Site(os).answers({ tables: osvolume === '' ? {} : { storage: [{ node: 'n1', osvolume }] } });

describe('the script of a kickstart', () => {
  const chosen = async (osvolume: string, machine = disks) => {
    const [, script = ''] = /%pre\n(wanted=.*?)%end/s.exec((await answersOf('rocky9.6', osvolume))['ks.cfg']!)!;
    return runWithDisks(script, machine);
  };

  it.each(named)('finds %s and leaves all other disks alone', async (osvolume, disk) => {
    const { code, files } = await chosen(osvolume);
    expect(code).toBe(0);
    const lines = files['partitionfile']!.split('\n');
    expect(lines).toContain(`ignoredisk --only-use=${disk}`);
    expect(lines).toContain(`clearpart --all --initlabel --drives=${disk}`);
  });

  it.each(wrong)('writes no partitions if there is no disk %s', async (osvolume) => {
    const { code, errors, files } = await chosen(osvolume);
    expect(code).not.toBe(0);
    expect(errors).toContain(osvolume);
    expect(files).toEqual({});
  });

  it('writes no partitions if several disks have the number', async () => {
    const files = { 'device/serial': 'S4EVNX0M123456      \n' };
    const second = { name: 'nvme0n2', files: { ...files, wwid: 'eui.0025385b71b00002\n' } };
    const hidden = { name: 'nvme0c0n1', files: { ...files, hidden: '1\n' } };
    const { code, errors, files: written } = await chosen('serial=S4EVNX0M123456', [...disks, second, hidden]);
    expect([code, written]).toEqual([1, {}]);
    expect(errors).toContain('Several disks are called serial=S4EVNX0M123456 (osvolume): nvme0n1 nvme0n2.');
    expect((await chosen('wwn=eui.0025385b71b00002', [...disks, second])).files['partitionfile']).toContain('nvme0n2');
  });

  it('takes no disk that is removable or read-only if none is named', async () => {
    expect((await chosen('')).files['partitionfile']).toMatch(/^ignoredisk --only-use=(blank|sdc|nvme0n1|vda)$/m);
    const { code, files } = await chosen('', disks.slice(0, 3));
    expect(code).not.toBe(0);
    expect(files).toEqual({});
  });
});

describe('the script beside a preseed', () => {
  const chosen = async (osvolume: string) =>
    runWithDisks((await answersOf('debian12.12', osvolume))['disk.sh']!, disks);

  it.each(named.filter(([osvolume]) => !osvolume.startsWith('/')))('finds %s', async (osvolume, disk) => {
    expect(await chosen(osvolume)).toMatchObject({ code: 0, files: { install_disk: `/dev/${disk}\n` } });
  });

  it.each(wrong.filter((osvolume) => !osvolume.startsWith('/')))('names no disk for %s', async (osvolume) => {
    const { code, files } = await chosen(osvolume);
    expect(code).not.toBe(0);
    expect(files).toEqual({});
  });
});
