import { describe, expect, it } from 'vitest';
import { diskArgument } from '../../../src/boot/ramdisk.ts';

describe('osvolume', () => {
  it.each([
    [undefined, 'auto'],
    ['', 'auto'],
    ['localdisk', 'auto'],
    ['/dev/sda', '/dev/sda'],
    ['/dev/nvme0n1', '/dev/nvme0n1'],
    ['wwn=0x50000393c813840c', 'wwn=0x50000393c813840c'],
    ['serial=S3Z-1', 'serial=S3Z-1'],
    ['wwn=eui.0025385b71b00001', 'wwn=eui.0025385b71b00001'],
  ])('%j is told as %j', (osvolume, word) => {
    expect(diskArgument(osvolume)).toBe(word);
  });

  it.each([
    'usbdisk',
    '/dev/../sda',
    '/dev/disk/by-id/x',
    'sda',
    'serial=',
    'serial=0x',
    'wwn=0x',
    'wwn=naa.',
    'serial=a b',
    '/dev/sda console=x',
  ])('%j is refused', (osvolume) => {
    expect(() => diskArgument(osvolume)).toThrow(/names no disk: write localdisk/);
  });
});
