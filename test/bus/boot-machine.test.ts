import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInstalled } from '../../scripts/packages.ts';
import { written } from '../harness/output.ts';
import { temporaryDirectory } from '../harness/server.ts';
import { type Nats, startNats } from '../lab/nats.ts';
import { placeFullRamdisk } from '../lab/netboot/image.ts';
import { machineArch } from '../lab/netboot/machine.ts';
import { type BootWorld, machineName, startBootWorld } from '../lab/netboot/world.ts';
import { isReady, launchWorker, type Listed, makeBusFiles, type TestWorker } from './cluster.ts';

const canRun = isInstalled(`qemu-system-${machineArch}`);
const firmware = machineArch === 'x86_64' ? 'bios' : 'uefi';
/** Software emulation on a machine that does other things too. */
const patience = 1_200_000;
const workerAddress = '10.77.0.2';
const node = machineName(0);
const busPort = 4222;

describe.skipIf(!canRun)('a machine whose server serves no boot files', { timeout: patience }, () => {
  let world: BootWorld;
  let nats: Nats;
  let worker: TestWorker;
  const directory = temporaryDirectory();

  beforeAll(async () => {
    await placeFullRamdisk(join(directory, 'ramdisk', machineArch));
    world = await startBootWorld({
      machines: [{ firmware, memory: 512 }],
      images: [],
      bootDirectory: directory,
      listens: false,
      async prepare(data, { namespace, address }) {
        const configuration = await makeBusFiles(data, `${address}:${busPort}`, ['sn1']);
        nats = await startNats(configuration, address, busPort, namespace);
        return { MUSTER_BUS_SERVERS: nats.url };
      },
    });
    const { namespace } = world.network;
    namespace.run('ip', 'address', 'add', `${workerAddress}/16`, 'dev', 'br0');
    worker = launchWorker('sn1', world.server().data, {
      namespace,
      environment: {
        MUSTER_BUS_SERVERS: nats.url,
        MUSTER_BOOT_LISTEN: `${workerAddress}:80`,
        MUSTER_BOOT_TFTP_LISTEN: `${workerAddress}:69`,
      },
    });
    await isReady(worker);
  }, patience);
  afterAll(async () => {
    await worker?.kill();
    await world?.stop();
    await nats?.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  it('boots from its worker to the end of its task', async () => {
    const server = world.server();
    await server.ok('PUT', '/nodes', {
      sn1: { groups: 'service', ip: workerAddress, setuptftp: '1' },
      [node]: { servicenode: 'sn1' },
    });
    const workers = async (): Promise<Listed[]> => (await server.ok('GET', '/servers')).servers;
    await expect
      .poll(workers, { timeout: patience })
      .toContainEqual(expect.objectContaining({ name: 'sn1', state: 'connected', serves: ['boot'] }));
    await server.ok('PUT', `/nodes/${node}/bootstate`, { state: 'runcmd=echo done' });
    await server.ok('POST', `/nodes/${node}/dhcp`);
    await server.ok('PUT', `/nodes/${node}/nextboot`, { order: 'net' });
    await server.ok('PUT', `/nodes/${node}/power`, { action: 'on' });
    const state = async (): Promise<unknown> => [
      (await server.ok('GET', `/nodes/${node}/bootstate`))[node].bootstat,
      world.machine(0).screen().slice(-2_000),
    ];
    await expect.poll(state, { timeout: patience, interval: 1_000 }).toEqual(expect.arrayContaining(['boot']));
    const { steps, why } = (await server.ok('GET', `/nodes/${node}/boot`))[node];
    expect(steps.join('\n')).toMatch(
      /script boot\/.*\n.*kernel boot\/.*\n.*initrd boot\/.*\n(.*\n)*.*report installed echo done/,
    );
    expect(why).toMatch(/^It reported .* that it is at "installed": echo done\./);
    expect(await written(server)).not.toContain('boot files are served');
  });
});
