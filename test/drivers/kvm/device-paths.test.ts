import { expect, test } from 'vitest';
import { deviceName, groupOf, isDevice, isOfMany } from '../../../src/drivers/kvm/device-paths.ts';

test.each([
  ['/dev/mapper/vg0-v1.vda', '/dev/vg0/v1.vda'],
  ['/dev/mapper/my--vg-a--b', '/dev/my-vg/a-b'],
  ['/dev/disk/by-id/dm-name-vg0-v1', '/dev/vg0/v1'],
  ['/dev/mapper/mpatha', '/dev/mapper/mpatha'],
  ['/images/vg0-v1', '/images/vg0-v1'],
])('the device %s is compared as %s', (path, name) => expect(deviceName(path)).toBe(name));

test.each([
  ['/dev/vg0/v1.vda', 'vg0'],
  ['/dev/mapper/vg0-v1', undefined],
  ['/dev/shm/v1', undefined],
  ['/dev/disk/by-id/x', undefined],
  ['/dev/sda', undefined],
])('%s is a volume of the group %s', (path, group) => expect(groupOf(path)).toBe(group));

test('devices that have their names from themselves may be the same one elsewhere', () => {
  expect(
    ['/dev/sda', '/dev/nvme0n1', '/dev/disk/by-id/wwn-1', '/dev/vg0/v1', '/dev/mapper/mpatha'].map(isOfMany),
  ).toEqual([false, false, true, true, true]);
  expect(['/dev/sda', '/dev/shm/v1.raw', '/images/v1.raw'].map(isDevice)).toEqual([true, false, false]);
});
