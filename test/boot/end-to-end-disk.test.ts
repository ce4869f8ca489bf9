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
        machines: [{ ...quickHardware, firmware, memory: 1024, disk: 2 }],
        images: ['disk'],
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
  },
);
