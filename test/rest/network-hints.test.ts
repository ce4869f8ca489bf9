import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { written } from '../harness/output.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';

const data = temporaryDirectory();
const anywhere = { MUSTER_HARDWARE_NETWORKS: '', MUSTER_REMOTE_NETWORKS: '' };

/** What the log says of networks, when it has said it of the last setting. */
async function hints(server: TestServer, last: string): Promise<[level: string, text: string][]> {
  await expect.poll(() => server.output()).toContain(`${last} is not set`);
  return (await written(server))
    .split('\n')
    .filter((line) => line.includes('networks is not set'))
    .map((line) => JSON.parse(line) as { level: string; msg: string })
    .map(({ level, msg }) => [level, msg]);
}

const open = {
  hardware:
    'hardware.networks is not set: the account of a BMC is sent to whatever address the attribute bmc of a node gives.',
  remote:
    'remote.networks is not set: what is meant for a node is sent to whatever address the attribute ip of a node gives.',
};

it('the log says at the start that addresses may be anywhere, and offers the networks of the nodes that are defined', async () => {
  const first = await startServer({ data, environment: anywhere });
  expect(await hints(first, 'remote.networks')).toEqual([
    ['info', open.hardware],
    ['info', open.remote],
  ]);
  await first.ok('POST', '/networks/service', { net: '10.1.0.0', mask: '255.255.0.0' });
  await first.ok('PUT', '/groups/compute', { mgt: 'ipmi', bmc: '|n(\\d+)|10.1.0.($1+0)|' });
  await first.ok('POST', '/nodes/n1-n9', { groups: 'all,compute', mgt: 'ipmi', ip: '10.2.0.7' });
  await first.ok('POST', '/nodes/x1', { groups: 'all', mgt: 'redfish', bmc: '10.7.0.1', ip: 'fd00::1' });
  await first.ok('POST', '/nodes/x2', { groups: 'all', mgt: 'redfish', bmc: 'x2-bmc' });
  await first.stop();
  const second = await startServer({ data, environment: anywhere });
  expect(await hints(second, 'remote.networks')).toEqual([
    [
      'warn',
      `${open.hardware} 1 nodes have a name there, whose networks are not known here. For the nodes that are defined: hardware.networks = ["10.1.0.0/16", "10.7.0.0/24"]`,
    ],
    ['warn', `${open.remote} For the nodes that are defined: remote.networks = ["10.2.0.0/24", "fd00::/64"]`],
  ]);
  await second.stop();
  const third = await startServer({ data, environment: { MUSTER_HARDWARE_NETWORKS: '' } });
  expect(await hints(third, 'hardware.networks')).toHaveLength(1);
  await third.stop();
  rmSync(data, { recursive: true });
});
