import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { labNode } from '../hardware/nodes.ts';
import { temporaryDirectory } from '../harness/server.ts';
import { placeRamdisk } from '../lab/netboot/image.ts';
import { type BootHardware, machineArch } from '../lab/netboot/machine.ts';
import { type BootWorld, machineName, startBootWorld } from '../lab/netboot/world.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { machineMac } from '../lab/vm/configuration.ts';
import { BootDesk, bootTimeout, canBoot, quickHardware } from './end-to-end.ts';

/** Of the BMC that takes the medium; the switch of the machine is a node of its own. */
const bmc = '10.77.0.50';
const node = machineName(0);
const machine: BootHardware = {
  ...quickHardware,
  firmware: 'secure',
  memory: 512,
  cd: true,
  attributes: { mgt: 'redfish', bmc, mac: machineMac(0) },
};

describe.skipIf(!canBoot)('a machine that starts from the medium in its drive', { timeout: bootTimeout }, () => {
  let world: BootWorld;
  let desk: BootDesk;
  let lab: RedfishLab;
  const directory = temporaryDirectory();
  beforeAll(async () => {
    await placeRamdisk(join(directory, 'ramdisk', machineArch));
    world = await startBootWorld({ machines: [machine], images: [], bootDirectory: directory });
    desk = new BootDesk(world);
    const { namespace } = world.network;
    namespace.run('ip', 'address', 'add', `${bmc}/16`, 'dev', world.network.interface);
    lab = await startRedfish({ count: 1, prefix: '127', addresses: [bmc], kinds: ['plain'], namespace });
    await world.server().ok('PUT', '/nodes', { switch1: labNode('ipmi', world.machine(0).address) });
  }, bootTimeout);
  afterAll(async () => {
    await world?.stop();
    await lab?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  const inDrives = async (): Promise<readonly string[]> =>
    (await lab.state(0)).media.drives.flatMap(({ image }) => image ?? []);

  it('runs the RAM disk under Secure Boot, and the medium is ejected then', async () => {
    const server = world.server();
    await server.ok('PUT', `/nodes/${node}/provision`, { action: 'shell', media: true });
    const [url = ''] = await inDrives();
    world.network.namespace.run('curl', '-sSf', '-o', join(world.machine(0).directory, 'cd.iso'), url);
    await server.ok('PUT', '/nodes/switch1/power', { action: 'on' });
    await desk.reaches(node, 'initramfs');
    await expect.poll(inDrives, { timeout: bootTimeout }).toEqual([]);
    await desk.hasHostKey(node);
    expect(await desk.shell(node, 'uname -s; grep -o "BOOTIF=[^ ]*" /proc/cmdline')).toBe(
      `Linux\nBOOTIF=01-${machineMac(0).replaceAll(':', '-')}`,
    );
    expect((await desk.steps(node)).join('\n')).toContain('media loader virtual media');
    await server.ok('PUT', '/nodes/switch1/power', { action: 'off' });
  });
});
