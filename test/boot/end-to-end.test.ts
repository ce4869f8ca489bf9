import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInstalled } from '../../scripts/packages.ts';
import { type BootHardware, machineArch } from '../lab/netboot/machine.ts';
import { machineName, startBootWorld, type BootWorld } from '../lab/netboot/world.ts';

const isPc = machineArch === 'x86_64';
const canRun = isInstalled(`qemu-system-${machineArch}`);
if (!canRun) console.warn('The tests with machines that boot are left out: QEMU could not be installed.');

// With UEFI the iPXE of Debian 12 does not hand on to the disk: it hangs where a newer one returns to the firmware.
const firmware = isPc ? 'bios' : 'uefi';
const machines: readonly BootHardware[] = [
  { firmware, memory: 1024 },
  { firmware, memory: 1024, disk: 3 },
  { firmware: 'secure', memory: 512 },
  { firmware: 'uefi', memory: 512, client: 'http' },
  { firmware: 'secure', memory: 512, netboot: 'xnba' },
];
const [inMemory, onDisk, secure, byHttp, unsigned] = machines.map((_, index) => machineName(index)) as [
  string,
  string,
  string,
  string,
  string,
];
/** Software emulation on a machine that does other things too. */
const patience = 1_500_000;

describe.skipIf(!canRun)('a blank machine becomes a running node by REST calls alone', { timeout: patience }, () => {
  let world: BootWorld;
  beforeAll(async () => {
    world = await startBootWorld({ machines });
  }, patience);
  afterAll(() => world?.stop(), 60_000);

  const boot = async (node: string): Promise<{ steps?: string[]; status?: string; why?: string }> =>
    (await world.server().ok('GET', `/nodes/${node}/boot`))[node];
  /** Waits for a step of the node's boot; if it fails, what the machine shows is told. */
  const reaches = async (node: string, step: string): Promise<void> => {
    const machine = world.machine(Number(node.slice(1)) - 1);
    const told = async (): Promise<string> => {
      const { steps = [], why } = await boot(node);
      const failed = steps.find((line) => line.includes(' report failed'));
      if (failed) throw new Error(`${failed}\n${machine.screen().slice(-2_000)}`);
      return `${steps.join('\n')}\n${why}\n${machine.screen().slice(-2_000)}`;
    };
    await expect.poll(told, { timeout: patience, interval: 1_000 }).toContain(` report ${step}`);
  };
  /** Waits until the node has done what its boot was for, which leaves it to its disk. */
  const hasDone = (node: string): Promise<void> =>
    expect
      .poll(
        async () => {
          const { [node]: shown } = await world.server().ok('GET', `/nodes/${node}/bootstate`);
          return `${shown.bootstat}\n${world
            .machine(Number(node.slice(1)) - 1)
            .screen()
            .slice(-2_000)}`;
        },
        { timeout: patience, interval: 1_000 },
      )
      .toMatch(/^boot\n/);
  const start = async (node: string, state: object): Promise<void> => {
    const server = world.server();
    await server.ok('PUT', `/nodes/${node}/bootstate`, state);
    await server.ok('PUT', `/nodes/${node}/nextboot`, { order: 'net' });
    await server.ok('PUT', `/nodes/${node}/power`, { action: 'on' });
  };
  const shell = async (node: string, command: string): Promise<string> => {
    const reply = await world.server().ok('POST', `/nodes/${node}/nodeshell`, { command });
    return (reply[node] as string[]).join('\n');
  };
  const statusOf = async (node: string): Promise<string> =>
    (await world.server().ok('GET', `/nodes/${node}/attrs/status`))[node].status;

  it('in memory, and a muster that is killed meanwhile does no harm', async () => {
    await start(inMemory, { osimage: 'ram' });
    await start(onDisk, { osimage: 'disk' });
    await reaches(inMemory, 'fetching');
    await world.killAndRestart();
    await reaches(inMemory, 'booted');
    await expect.poll(() => statusOf(inMemory)).toBe('booted');
    expect(await shell(inMemory, 'hostname; findmnt -no FSTYPE /')).toBe(`${inMemory}\noverlay`);
  });

  it('on its disk, from which it starts then', async () => {
    await hasDone(onDisk);
    await reaches(onDisk, 'booted');
    await expect.poll(() => statusOf(onDisk)).toBe('booted');
    expect(await shell(onDisk, 'hostname; findmnt -no SOURCE,FSTYPE /; findmnt -no FSTYPE /boot/efi')).toMatch(
      new RegExp(`^${onDisk}\n/dev/vda3 +ext4\nvfat$`),
    );
  });

  it('under Secure Boot, by what Debian has signed', async () => {
    // The kernel knows that it was started under Secure Boot, and is locked down then.
    const isLocked =
      'mount -t securityfs s /sys/kernel/security && grep "\\[integrity\\]" /sys/kernel/security/lockdown';
    await start(secure, { state: `runcmd=${isLocked} || { cat /sys/kernel/security/lockdown; exit 1; }` });
    // Machines that the next test looks at, meanwhile.
    if (isPc) {
      await start(byHttp, { state: 'runcmd=echo done' });
      await start(unsigned, { state: 'runcmd=true' });
    }
    await hasDone(secure);
    expect(await statusOf(secure)).not.toBe('failed');
  });

  // iPXE for arm64 is not in Debian 12.
  it.runIf(isPc)('by HTTP alone; and Secure Boot refuses a loader that nobody has signed', async () => {
    await hasDone(byHttp);
    const loaders = ((await boot(byHttp)).steps ?? []).filter((line) => / (http|tftp) loader /.test(line));
    expect(loaders).toEqual([expect.stringMatching(/ http loader ipxe\.efi /)]);
    await world.machine(4).shows('Access Denied', 1, patience);
    expect((await boot(unsigned)).steps?.filter((line) => line.includes(' script '))).toEqual([]);
  });
});
