import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInstalled } from '../../scripts/packages.ts';
import { temporaryDirectory } from '../harness/server.ts';
import type { LabChild } from '../lab/child.ts';
import { askGuest, placeTellingDisk } from '../lab/libvirt/telling.ts';
import { placeFullRamdisk } from '../lab/netboot/image.ts';
import { machineArch, machineSerial } from '../lab/netboot/machine.ts';
import { tapOf } from '../lab/netboot/network.ts';
import { startSwitch, switchName } from '../lab/netboot/switch.ts';
import { type BootWorld, machineName, startBootWorld, virtualName } from '../lab/netboot/world.ts';
import { machineMac } from '../lab/vm/configuration.ts';

const canRun = isInstalled(`qemu-system-${machineArch}`);
const isPc = machineArch === 'x86_64';
const firmware = isPc ? 'bios' : 'uefi';
if (!isPc) console.warn('The test of virtual machines that boot the ramdisk is left out: those of the lab are PCs.');
/** Software emulation on a machine that does other things too. */
const patience = 1_500_000;
const chain = 'runcmd=echo known';

describe.skipIf(!canRun)('machines that boot the ramdisk', { timeout: patience }, () => {
  let world: BootWorld;
  let neighbour: LabChild | undefined;
  const directory = temporaryDirectory();
  beforeAll(async () => {
    await placeFullRamdisk(join(directory, 'ramdisk', machineArch));
    const port = { switch: switchName, switchport: tapOf(0) };
    world = await startBootWorld({
      machines: [
        { firmware, memory: 512, disk: 1, attributes: { serial: machineSerial(0), ...port, chain } },
        { firmware, memory: 512, disk: 1, attributes: { chain }, hidesProcessor: true },
      ],
      // Hypervisors of the lab have machines of one kind.
      virtual: isPc ? [{ vmmemory: '512', vmbootorder: 'hd,net' }] : [],
      images: [],
      bootDirectory: directory,
    });
    neighbour = startSwitch(world.network.namespace, [tapOf(0), tapOf(1)], directory);
  }, patience);
  afterAll(async () => {
    await neighbour?.stop();
    await world?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it.concurrent('become the nodes that they are like or that are next, and go on to what those are to do', async () => {
    const server = world.server();
    await server.ok('POST', '/discovery', { noderange: 'n2', by: 'order' });
    await server.ok('PUT', '/nodes/all/nextboot', { order: 'net' });
    await server.ok('PUT', '/nodes/all/power', { action: 'on' });
    // A task that has ended well is followed by the node's own disk, from which these machines would start over and over.
    const state = async (index: number): Promise<unknown> => [
      (await server.ok('GET', `/nodes/${machineName(index)}/bootstate`))[machineName(index)].bootstat,
      ...((await server.ok('GET', '/discovery')).machines ?? []),
      world.machine(index).screen().slice(-1_000),
    ];
    const ends = async (index: number): Promise<void> => {
      await expect
        .poll(() => state(index), { timeout: patience, interval: 1_000 })
        .toEqual(expect.arrayContaining(['boot']));
      await server.ok('PUT', `/nodes/${machineName(index)}/power`, { action: 'off' });
    };
    await Promise.all([ends(0), ends(1)]);
    const { n1, n2 } = await server.ok('GET', '/nodes/n1,n2/attrs/mac,serial');
    expect([n1.mac, n2.mac].map((mac: string) => mac.toLowerCase())).toEqual([machineMac(0), machineMac(1)]);
    expect(n2.serial).toBe(machineSerial(1));
    // What spoke for each: its maker, its BMC from inside, and its switch by LLDP; and nothing.
    const { discoverydata } = await server.ok('GET', '/tables/discoverydata/rows');
    const found = Object.fromEntries(discoverydata.map((row: Record<string, string>) => [row['node'], row]));
    expect(found.n1.method).toBe(isPc ? 'serial,bmc,switch' : 'serial,switch');
    expect(found.n2.method).toBe('order');
    expect(found.n2).toMatchObject({ switchname: switchName });
  });

  const virtual = virtualName(0);
  const booted = async (): Promise<readonly string[]> =>
    (await world.server().ok('GET', `/nodes/${virtual}/boot`))[virtual].steps ?? [];

  it.runIf(isPc).concurrent('are virtual ones too, once: then these start from their disks', async () => {
    const server = world.server();
    const lab = world.hypervisor!;
    await placeTellingDisk(lab, virtual);
    await server.ok('POST', `/nodes/${virtual}/vm`);
    await server.ok('PUT', `/nodes/${virtual}/bootstate`, { state: 'runcmd=echo done' });
    await server.ok('PUT', `/nodes/${virtual}/nextboot`, { order: 'net' });
    await server.ok('PUT', `/nodes/${virtual}/power`, { action: 'on' });
    const state = async (): Promise<string> =>
      [(await server.ok('GET', `/nodes/${virtual}/bootstate`))[virtual].bootstat, ...(await booted())].join('\n');
    await expect.poll(state, { timeout: patience, interval: 1_000 }).toMatch(/^boot\n/);
    expect(await server.ok('GET', `/nodes/${virtual}/nextboot`)).toEqual({
      [virtual]: { nextboot: 'boot override inactive' },
    });
    await server.ok('PUT', `/nodes/${virtual}/power`, { action: 'cycle' });
    const steps = await booted();
    expect(await askGuest(lab, virtual)).toMatchObject({ mem: '512M', cpus: '1' });
    expect(await booted()).toEqual(steps);
    await server.ok('PUT', `/nodes/${virtual}/power`, { action: 'off' });
  });
});
