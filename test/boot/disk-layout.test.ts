import { describe, expect, it } from 'vitest';
import { layoutArguments } from '../../src/boot/disk-layout.ts';

const read = (...lines: string[]): string => layoutArguments(lines.join('\n'), 'img: partitionfile /l');

describe('a file that says how disks are divided', () => {
  it('has partitions, volumes, swap and a second disk', () => {
    expect(
      read(
        '# ours',
        '',
        'mirror /dev/sdb',
        'partition 1GiB ext4 /boot  # small',
        'partition 512MiB swap',
        'partition 2GiB swap',
        'volume 20GiB xfs /',
        'volume rest ext4 /var/lib/app-1',
      ),
    ).toBe(
      'muster.layout=partition:1024:ext4:/boot:boot,partition:512:swap::swap,partition:2048:swap::swap2,volume:20480:xfs:/:root,volume:0:ext4:/var/lib/app-1:var_lib_app_1 muster.mirror=/dev/sdb',
    );
    expect(read('mirror', 'partition rest ext4 /')).toBe('muster.layout=partition:0:ext4:/:root muster.mirror=auto');
  });

  it.each([
    [['part / --size=1'], /line 1: "part \/ --size=1" is not mirror \[DISK\], partition SIZE FORMAT/],
    [['mirror', 'mirror'], /line 2: "mirror" is not/],
    [['mirror sdb'], /names no disk/],
    [['partition 20GB ext4 /'], /the size "20GB" is neither/],
    [['partition rest btrfs /'], /the format "btrfs" is not one of ext4, xfs, swap/],
    [['partition rest ext4'], /swap has no place/],
    [['partition 1GiB swap /x'], /swap has no place/],
    [['partition 1GiB ext4 /boot/efi'], /cannot be a file system of its own/],
    [['partition 1GiB ext4 /a,b:c'], /cannot be a file system of its own/],
    [['partition 1GiB ext4 /usr'], /cannot be a file system of its own/],
    [['partition 1GiB ext4 /../x'], /cannot be a file system of its own/],
    [['partition 1GiB ext4 /a-b', 'partition 1GiB ext4 /a_b'], /line 2: \/a_b or a name like it is there already/],
    [['partition 1GiB ext4 /boot'], /nothing is mounted at \//],
    [[''], /nothing is mounted at \//],
    [['partition rest ext4 /', 'partition 1GiB swap'], /only the last partition can take the rest/],
    [['partition rest ext4 /', 'volume rest ext4 /var'], /volumes take the rest of the disk/],
    [
      ['partition 1GiB ext4 /', ...Array.from({ length: 40 }, (_, index) => `volume 1GiB ext4 /srv/data${index}`)],
      /too much for the command line/,
    ],
  ])('%j is refused', (lines, sentence) => {
    expect(() => read(...lines)).toThrow(sentence);
    expect(() => read(...lines)).toThrow(/^img: partitionfile \/l/);
  });
});
