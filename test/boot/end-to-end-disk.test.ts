import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BootWorld, machineName, startBootWorld } from '../lab/netboot/world.ts';
import { BootDesk, bootTimeout, canBoot, isPc, quickHardware } from './end-to-end.ts';

const node = machineName(0);
// With UEFI the iPXE of Debian 12 does not hand on to the disk: it hangs where a newer one returns to the firmware.
const firmware = isPc ? 'bios' : 'uefi';

describe.skipIf(!canBoot)(
  'a blank machine gets an image onto its disk by REST calls alone',
  { timeout: bootTimeout },
  () => {
    let world: BootWorld;
    beforeAll(async () => {
      world = await startBootWorld({
        machines: [
          { ...quickHardware, firmware, memory: 1024, disk: 2 },
          { ...quickHardware, firmware, memory: 1536, disk: 2, secondDisk: 2 },
        ],
        images: ['disk', 'mirror'],
      });
    }, bootTimeout);
    afterAll(() => world?.stop());

    it('and starts from there then', async () => {
      const desk = new BootDesk(world);
      await desk.start(node, { osimage: 'disk' });
      await desk.hasDone(node);
      await desk.reaches(node, 'booted');
      await expect.poll(() => desk.status(node)).toBe('booted');
      expect(await desk.shell(node, 'hostname; findmnt -no SOURCE,FSTYPE /; findmnt -no FSTYPE /boot/efi')).toMatch(
        new RegExp(`^${node}\n/dev/vda3 +ext4\nvfat$`),
      );
      await desk.off(node);
    });

    it('or onto two, as partitions, volumes and swap that are there twice', async () => {
      const desk = new BootDesk(world);
      const two = machineName(1);
      await desk.start(two, { osimage: 'mirror' });
      await desk.hasDone(two);
      await desk.reaches(two, 'booted');
      const mounted = ['/', '/boot', '/srv'].map((place) => `findmnt -no SOURCE,FSTYPE ${place}`).join('; ');
      expect(await desk.shell(two, mounted)).toMatch(
        /^\/dev\/mapper\/system-root +ext4\n\/dev\/md\d+ +ext4\n\/dev\/mapper\/system-srv +xfs$/,
      );
      expect(
        await desk.shell(two, 'grep -c "^md.*raid1" /proc/mdstat; grep -c UU /proc/mdstat; grep -c /dev/ /proc/swaps'),
      ).toBe('3\n3\n1');
      await desk.off(two);
    });
  },
);
