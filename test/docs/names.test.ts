import { join } from 'node:path';
import { it } from 'vitest';
import { type LabChild, startChild } from '../lab/child.ts';
import { connectNamespaces, makeNamespace } from '../lab/netns.ts';
import type { LabDevice } from '../lab/slp.ts';
import { machine, startMachines } from './fixtures/machines.ts';
import { runPage } from './run-page.ts';

/** Devices that lsslp finds. */
const devices: readonly LabDevice[] = [
  {
    address: '10.1.2.1',
    services: [
      {
        type: 'service:management-hardware.IBM:chassis-management-module',
        attributes:
          '(type=chassis-management-module),(enclosure-mtm=98939AX),(enclosure-serial-number=102537A),(slot=1),(hostname=cmm01),(ipv4-address=10.1.2.1)',
      },
    ],
    redfish: '6b1e2f4c-0000-4000-8000-000000000001',
  },
];

it('docs/names.md shows commands that work', async () => {
  const network = makeNamespace();
  const children: LabChild[] = [];
  try {
    await runPage('docs/names.md', {
      settings: {
        MUSTER_DNS_DAEMON: 'process',
        MUSTER_DHCP_DAEMON: 'process',
        MUSTER_DISCOVERY_INTERFACES: 'cluster0',
        MUSTER_DISCOVERY_SECONDS: '3',
      },
      async prepare(world) {
        await startMachines(world, [1, 2].map(machine));
        connectNamespaces(
          { namespace: world.inside, interface: 'to-devices' },
          { namespace: network, interface: 'device0', addresses: devices.map(({ address }) => `${address}/16`) },
        );
        world.inside.run('ip', 'link', 'set', 'to-devices', 'master', 'cluster0');
        network.run('ip', 'address', 'change', '10.1.2.1/16', 'broadcast', '10.1.255.255', 'dev', 'device0');
        const [program, ...words] = network.command(
          process.execPath,
          join(import.meta.dirname, '../lab/slp/responder.ts'),
        );
        const log = join(world.directory, 'devices.log');
        const child = startChild(program, words, { directory: world.directory, logFile: log, channel: true });
        children.push(child);
        const played = new Promise((resolve) => child.process.once('message', resolve));
        child.process.send({ id: 1, play: { devices, name: 'device0' } });
        await played;
      },
    });
  } finally {
    for (const child of children) await child.stop();
    network.remove();
  }
});
