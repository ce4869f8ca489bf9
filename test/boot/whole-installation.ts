// Run inside a network namespace whose loopback interface has the address ADDRESS, with a mirror that test/lab/debian-installer-mirror.ts
// made: Debian 13's own installer installs a machine of QEMU with the answers of muster, and the new system starts from its disk.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Installation } from './installer-machine.ts';

const [address = '', mirror = '', minutes = ''] = process.argv.slice(2);
const deadline = Date.now() + Number(minutes) * 60_000;
const began = Date.now();
const tell = (line: string): void =>
  console.log(`${((Date.now() - began) / 60_000).toFixed(1).padStart(6)} min  ${line}`);

// The first disk holds something that must stay, and osvolume names the second.
const disks = mkdtempSync(join(tmpdir(), 'muster-disks-'));
const [data, system] = [join(disks, 'data'), join(disks, 'system')];
writeFileSync(data, Buffer.alloc(2 ** 26, 'what somebody needs. '));
const sum = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');
const before = sum(data);
execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', system, '8G']);
const disk = (file: string, format: string, serial: string, rest = ''): string =>
  `-drive file=${file},if=none,id=${serial},format=${format},cache=unsafe -device virtio-blk-pci,drive=${serial},serial=${serial}${rest}`;

const installation = await Installation.start({
  address,
  os: 'debian13',
  memory: 1536,
  disk: `${disk(data, 'raw', 'DATA')} ${disk(system, 'qcow2', 'SYSTEM', ',bootindex=1')}`,
  fill(tree, netboot) {
    execFileSync('cp', ['-r', `${mirror}/tree/.`, tree]);
    execFileSync('cp', ['-r', `${mirror}/netboot/.`, netboot]);
  },
});

/** Prints new steps until one of these is reported. */
async function watch(...ends: readonly string[]): Promise<void> {
  let told = 0;
  const isDone = (steps: readonly string[]): boolean => {
    for (const step of steps.slice(told)) if (!step.includes('.deb') && !step.includes('.udeb')) tell(step);
    told = Math.max(told, steps.length);
    return steps.some((step) => ends.some((end) => step === `report ${end}` || step.startsWith(`report ${end} `)));
  };
  if (await installation.until(isDone, deadline)) return;
  throw new Error(`It did not come to ${ends[0]}: ${JSON.stringify(installation.shown())}`);
}

try {
  await installation.server.ok('PUT', '/nodes/n1', { osvolume: 'serial=SYSTEM' });
  await installation.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'debian' });
  installation.bootInstaller();
  await watch('installed', 'failed');
  tell(`state: ${await installation.attribute('currstate')}, status: ${await installation.attribute('status')}`);
  await installation.untilOff(deadline);
  if (sum(data) !== before) throw new Error('The disk that osvolume does not name was changed.');
  tell('the other disk is as it was; starting the new system from its disk');
  installation.bootDisk();
  await watch('booted', 'failed');
  tell(`status: ${await installation.attribute('status')}`);
} finally {
  await installation.stop();
  rmSync(disks, { recursive: true });
}
