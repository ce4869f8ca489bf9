import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../harness/server.ts';
import { placeRamdisk } from '../lab/netboot/image.ts';
import { type BootHardware, machineArch } from '../lab/netboot/machine.ts';
import { type BootWorld, machineName, startBootWorld } from '../lab/netboot/world.ts';
import { BootDesk, bootTimeout, canBoot, isPc, quickHardware } from './end-to-end.ts';

if (!isPc)
  console.warn('The test of HTTP boot alone is left out: Debian 12 has no iPXE for arm64, and its GRUB needs TFTP.');

const machines: readonly BootHardware[] = [
  { ...quickHardware, firmware: 'secure', memory: 512 },
  { ...quickHardware, firmware: 'secure', memory: 512, netboot: 'xnba' },
  { ...quickHardware, firmware: 'uefi', memory: 512, client: 'http' },
];
const [signed, unsigned, byHttp] = machines.map((_, index) => machineName(index)) as [string, string, string];

describe.skipIf(!canBoot)('a machine with UEFI and no disk boots the RAM disk', { timeout: bootTimeout }, () => {
  let world: BootWorld;
  let desk: BootDesk;
  const directory = temporaryDirectory();
  beforeAll(async () => {
    await placeRamdisk(join(directory, 'ramdisk', machineArch));
    world = await startBootWorld({ machines, images: [], bootDirectory: directory });
    desk = new BootDesk(world);
  }, bootTimeout);
  afterAll(async () => {
    await world?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it.runIf(isPc).concurrent('by HTTP alone', async () => {
    await desk.start(byHttp, { state: 'runcmd=true' });
    // Its kernel has started with the words of its script: what follows is the same on every machine.
    await desk.reaches(byHttp, 'initramfs');
    await desk.off(byHttp);
    const loaders = (await desk.steps(byHttp)).filter((line) => line.includes(' loader ipxe.efi '));
    expect(loaders).not.toEqual([]);
    for (const line of loaders) expect(line).toContain(' http loader ');
  });

  it.concurrent('under Secure Boot, by what Debian has signed, to a shell that takes commands', async () => {
    await desk.start(signed, { state: 'shell' });
    await desk.hasHostKey(signed);
    expect(await desk.shell(signed, 'uname -s; echo $((6 * 7)); ls -d /lib/muster')).toBe('Linux\n42\n/lib/muster');
    // The kernel knows that it was started under Secure Boot, and is locked down then.
    const lockdown = 'mount -t securityfs s /sys/kernel/security && cat /sys/kernel/security/lockdown';
    expect(await desk.shell(signed, lockdown)).toContain('[integrity]');
    await desk.off(signed);
  });

  it.runIf(isPc).concurrent('and Secure Boot refuses a loader that nobody has signed', async () => {
    await desk.start(unsigned, { state: 'runcmd=true' });
    await world.machine(1).shows('Access Denied', 1, bootTimeout);
    await desk.off(unsigned);
    expect((await desk.steps(unsigned)).filter((line) => line.includes(' script '))).toEqual([]);
  });
});
