import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import { type LabChild, startChild } from '../lab/child.ts';
import { connectNamespaces, makeNamespace } from '../lab/netns.ts';
import type { LabDevice } from '../lab/slp.ts';
import { said } from '../lab/child.ts';
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

/** A name server elsewhere, which lets whoever has the key of the page change its zones. */
function nameServer(directory: string): readonly string[] {
  mkdirSync(directory);
  const zones = ['cluster.example', '1.10.in-addr.arpa'];
  const zoneText = '$TTL 600\n@ SOA ns hostmaster 1 600 600 600 600\n@ NS ns\nns A 10.1.0.53\n';
  for (const zone of zones) writeFileSync(join(directory, zone), zoneText);
  const lines = [
    'key "cluster-key" { algorithm hmac-sha256; secret "c2VjcmV0LXNlY3JldC1zZWNyZXQ="; };',
    'controls { };',
    `options { directory "${directory}"; pid-file none; session-keyfile none; recursion no; dnssec-validation no;`,
    '  listen-on { 10.1.0.53; }; listen-on-v6 { none; }; };',
    ...zones.map((zone) => `zone "${zone}" { type primary; file "${zone}"; allow-update { key "cluster-key"; }; };`),
  ];
  writeFileSync(join(directory, 'named.conf'), `${lines.join('\n')}\n`);
  return ['named', '-g', '-c', join(directory, 'named.conf')];
}

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
        network.run('ip', 'address', 'add', '10.1.0.53/16', 'dev', 'device0');
        const { directory } = world;
        const begin = (name: string, ...command: string[]): LabChild => {
          const [program, ...words] = network.command(...(command as [string, ...string[]]));
          const child = startChild(program, words, {
            directory,
            logFile: join(directory, `${name}.log`),
            channel: true,
          });
          children.push(child);
          return child;
        };
        await said(begin('named', ...nameServer(join(directory, 'elsewhere'))), 'running');
        const child = begin('devices', process.execPath, join(import.meta.dirname, '../lab/slp/responder.ts'));
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
