import { writeFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInstalled } from '../../scripts/packages.ts';
import { temporaryDirectory, type TestServer } from '../harness/server.ts';
import type { LabChild } from '../lab/child.ts';
import { type BootHardware, machineArch } from '../lab/netboot/machine.ts';
import { serveNfs } from '../lab/netboot/nfs.ts';
import { machineName, startBootWorld, type BootWorld } from '../lab/netboot/world.ts';

const isPc = machineArch === 'x86_64';
const canRun = isInstalled(`qemu-system-${machineArch}`);
if (!canRun) console.warn('The tests with machines that boot are left out: QEMU could not be installed.');
if (!isPc)
  console.warn('The test of HTTP boot alone is left out: Debian 12 has no iPXE for arm64, and its GRUB needs TFTP.');

// With UEFI the iPXE of Debian 12 does not hand on to the disk: it hangs where a newer one returns to the firmware.
const firmware = isPc ? 'bios' : 'uefi';
const machines: readonly BootHardware[] = [
  { firmware, memory: 1024, disk: 1 },
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
/** What of the image in memory is kept, shared and thrown away. */
const rows: Readonly<Record<string, Record<string, string>>> = {
  'litefile/rows/image=lite,file=/var/kept/': { options: 'persistent' },
  'litefile/rows/image=ALL,file=/var/thrown/': { options: 'tmpfs' },
  'litefile/rows/image=lite,file=/etc/shared': { options: 'ro' },
  'litefile/rows/image=lite,file=/etc/linked': { options: 'link,ro' },
  [`statelite/rows/node=${inMemory}`]: { statemnt: '/dev/vda' },
  'litetree/rows/priority=1': { directory: '10.77.0.1:/tree' },
};
const defineStatelite = async (server: TestServer): Promise<void> => {
  for (const [path, row] of Object.entries(rows))
    await server.ok(
      'PUT',
      `/tables/${path.split('/').slice(0, 2).join('/')}/${encodeURIComponent(path.split('/').slice(2).join('/'))}`,
      row,
    );
};

/** Software emulation on a machine that does other things too. */
const patience = 1_500_000;

const reached = { fetching: / report (fetching|failed)/, booted: / report (booted|failed)/ } as const;

describe.skipIf(!canRun)('a blank machine becomes a running node by REST calls alone', { timeout: patience }, () => {
  let world: BootWorld;
  let files: LabChild | undefined;
  const served = temporaryDirectory();
  beforeAll(async () => {
    world = await startBootWorld({ machines, images: ['lite', 'disk'] });
    mkdirSync(join(served, 'tree/etc'), { recursive: true });
    for (const name of ['shared', 'linked']) writeFileSync(join(served, 'tree/etc', name), 'of the server\n');
    files = await serveNfs(world.network.namespace, served);
    await defineStatelite(world.server());
  }, patience);
  afterAll(async () => {
    await files?.stop();
    await world?.stop();
    rmSync(served, { recursive: true, force: true });
  });

  const boot = async (node: string): Promise<{ steps?: string[]; status?: string; why?: string }> =>
    (await world.server().ok('GET', `/nodes/${node}/boot`))[node];
  /** Waits for a step of the node's boot; if it fails, what the machine shows is told. */
  const reaches = async (node: string, step: keyof typeof reached): Promise<void> => {
    const machine = world.machine(Number(node.slice(1)) - 1);
    const told = async (): Promise<string> => {
      const { steps = [], why } = await boot(node);
      return `${steps.join('\n')}\n${why}\n${machine.screen().slice(-2_000)}`;
    };
    // A poll goes on when what it looks at throws.
    await expect.poll(told, { timeout: patience, interval: 1_000 }).toMatch(reached[step]);
    expect(await told()).toContain(` report ${step}`);
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
  const start = async (node: string, state: object, action = 'on'): Promise<void> => {
    const server = world.server();
    await server.ok('PUT', `/nodes/${node}/bootstate`, state);
    await server.ok('PUT', `/nodes/${node}/nextboot`, { order: 'net' });
    await server.ok('PUT', `/nodes/${node}/power`, { action });
  };
  /** Of one that is looked at no more: without a disk it would start over and over. */
  const off = (node: string): Promise<unknown> => world.server().ok('PUT', `/nodes/${node}/power`, { action: 'off' });
  const shell = async (node: string, command: string): Promise<string> => {
    const reply = await world.server().ok('POST', `/nodes/${node}/nodeshell`, { command });
    return (reply[node] as string[]).join('\n');
  };
  const statusOf = async (node: string): Promise<string> =>
    (await world.server().ok('GET', `/nodes/${node}/attrs/status`))[node].status;

  it('in memory, and a muster that is killed meanwhile does no harm', async () => {
    await start(inMemory, { osimage: 'lite' });
    await start(onDisk, { osimage: 'disk' });
    await reaches(inMemory, 'fetching');
    await world.killAndRestart();
    await reaches(inMemory, 'booted');
    await expect.poll(() => statusOf(inMemory)).toBe('booted');
    const journal = 'systemctl is-active systemd-journald';
    expect(await shell(inMemory, `hostname; findmnt -no FSTYPE /; ${journal}`)).toBe(`${inMemory}\noverlay\nactive`);
  });

  it('with files that it keeps on its disk, has from a server, or loses when it boots anew', async () => {
    const look =
      'cat /etc/shared /var/kept/a; cat /var/thrown/a 2> /dev/null || echo lost; findmnt -no FSTYPE,OPTIONS /etc/shared';
    const shown = await shell(inMemory, `echo kept > /var/kept/a; echo there > /var/thrown/a; sync; ${look}`);
    expect(shown).toMatch(/^of the server\nkept\nthere\nnfs4 +ro,/);
    const written = await shell(inMemory, 'echo more >> /etc/linked || readlink /etc/linked; cat /etc/linked');
    expect(written).toMatch(/^\/\.statelite\/tree\/0\/etc\/linked\nof the server$/m);
    // It starts anew by itself: muster knows of that by what DHCP gives its firmware, and the node gets a new token.
    await shell(inMemory, 'nohup sh -c "sleep 3; reboot -f" > /dev/null 2>&1 &');
    // Until it asks for its script, what it told of the boot before is the last that is known.
    await expect
      .poll(async () => (await boot(inMemory)).steps?.join('\n'), { timeout: patience, interval: 1_000 })
      .not.toContain(' report booted');
    await reaches(inMemory, 'booted');
    // A root in memory makes new host keys with each boot, and the node tells them.
    expect(await shell(inMemory, look)).toMatch(/^of the server\nkept\nlost\nnfs4 +ro,/);
    await off(inMemory);
  });

  it('on its disk, from which it starts then', async () => {
    await hasDone(onDisk);
    await reaches(onDisk, 'booted');
    await expect.poll(() => statusOf(onDisk)).toBe('booted');
    expect(await shell(onDisk, 'hostname; findmnt -no SOURCE,FSTYPE /; findmnt -no FSTYPE /boot/efi')).toMatch(
      new RegExp(`^${onDisk}\n/dev/vda3 +ext4\nvfat$`),
    );
    await off(onDisk);
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
    await off(secure);
  });

  it.runIf(isPc)('by HTTP alone; and Secure Boot refuses a loader that nobody has signed', async () => {
    await world.machine(4).shows('Access Denied', 1, patience);
    await off(unsigned);
    await hasDone(byHttp);
    await off(byHttp);
    // It starts anew when it is done, and may have done so by now: iPXE fetches GRUB by TFTP then, to look for a disk.
    const loaders = ((await boot(byHttp)).steps ?? []).filter((line) => line.includes(' loader ipxe.efi '));
    expect(loaders).not.toEqual([]);
    for (const line of loaders) expect(line).toContain(' http loader ');
    expect((await boot(unsigned)).steps?.filter((line) => line.includes(' script '))).toEqual([]);
  });

  it('in a shell of the RAM disk, which takes commands too', async () => {
    await start(secure, { state: 'shell' });
    const told = async (): Promise<unknown> => {
      const { boottoken } = await world.server().ok('GET', `/tables/boottoken/rows/node=${secure}`);
      return boottoken[0].hostkey ?? world.machine(2).screen().slice(-2_000);
    };
    await expect.poll(told, { timeout: patience, interval: 1_000 }).toMatch(/^ssh-ed25519 /);
    expect(await shell(secure, 'uname -s; echo $((6 * 7)); ls -d /lib/muster')).toBe('Linux\n42\n/lib/muster');
  });
});
