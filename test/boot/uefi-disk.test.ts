import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInstalled } from '../../scripts/packages.ts';
import { machineArch } from '../lab/netboot/machine.ts';
import { type BootWorld, machineName, startBootWorld } from '../lab/netboot/world.ts';

const isPc = machineArch === 'x86_64';
const canRun = isPc && isInstalled('qemu-system-x86_64');
if (!canRun)
  console.warn(
    `The test with a UEFI machine that boots from its disk is left out: ${isPc ? 'QEMU could not be installed' : 'Debian 12 has no iPXE for arm64'}.`,
  );

const mark = 'STARTED-FROM-DISK';
/** Software emulation on a machine that does other things too. */
const patience = 900_000;

/** A partition for UEFI with GRUB, which finds its own settings only if it knows the disk that it comes from. */
function fillDisk(directory: string): void {
  const disk = join(directory, 'disk.img');
  const partition = ['-i', `${disk}@@1M`];
  const settings = join(directory, 'grub.cfg');
  writeFileSync(settings, `echo ${mark}\nsleep 600\n`);
  execFileSync('sfdisk', ['-q', disk], { input: 'label: gpt\nstart=2048, size=65536, type=U\n' });
  execFileSync('mformat', [...partition, '-T', '65536', '-h', '2', '-s', '32', '::']);
  execFileSync('mmd', [...partition, '::EFI', '::EFI/BOOT', '::EFI/debian']);
  const grub = '/usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed';
  execFileSync('mcopy', [...partition, grub, '::EFI/BOOT/BOOTX64.EFI']);
  execFileSync('mcopy', [...partition, settings, '::EFI/debian/grub.cfg']);
}

describe.skipIf(!canRun)('a machine with UEFI whose state is boot', { timeout: patience }, () => {
  let world: BootWorld;
  beforeAll(async () => {
    world = await startBootWorld({ machines: [{ firmware: 'uefi', memory: 256, disk: 1 }], images: [] });
  }, patience);
  afterAll(() => world?.stop());

  it('starts from its disk though it boots from the network', async () => {
    const node = machineName(0);
    const machine = world.machine(0);
    fillDisk(machine.directory);
    const server = world.server();
    await server.ok('PUT', `/nodes/${node}/bootstate`, { state: 'boot' });
    await server.ok('PUT', `/nodes/${node}/nextboot`, { order: 'net' });
    await server.ok('PUT', `/nodes/${node}/power`, { action: 'on' });
    await machine.shows(mark, 1, patience);
    const { steps, why } = (await server.ok('GET', `/nodes/${node}/boot`))[node];
    expect(steps.join('\n')).toMatch(
      / script boot\/\S+\.ipxe .*\n.* loader grubx64\.efi .*\n.* script boot\/\S+\.grub /,
    );
    expect(why).toMatch(/^It was sent to its disk /);
  });
});
