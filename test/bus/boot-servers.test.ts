import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BusCluster, startBusCluster, type TestWorker } from './cluster.ts';

const boot = { MUSTER_BOOT_LISTEN: '127.0.0.1:0', MUSTER_BOOT_TFTP_LISTEN: '127.0.0.1:0' };
/** A second, not half a minute. */
const soon = { MUSTER_DHCP_WORKER_TIMEOUT: '1' };

let cluster: BusCluster;
let first: TestWorker;

beforeAll(async () => {
  cluster = await startBusCluster(['sn1', 'sn2', 'sn3'], soon);
  const { server } = cluster;
  await server.ok('POST', '/networks/mgmt', { net: '10.9.0.0', mask: '255.255.255.0' });
  const service = { groups: 'service', setuptftp: '1' };
  const node = { groups: 'all', servicenode: 'sn1,sn2' };
  await server.ok('PUT', '/nodes', {
    sn1: { ...service, ip: '10.9.0.11' },
    sn2: { ...service, ip: '10.9.0.12' },
    sn3: { ...service },
    n1: { ...node, ip: '10.9.0.51' },
    n2: { ...node, ip: '10.9.0.52', tftpserver: '10.9.0.200' },
    n3: { ...node, ip: '10.9.0.53', servicenode: 'localhost,sn1' },
  });
  for (const [number, more] of [
    ['1', {}],
    ['2', { nextserver: '10.9.0.200' }],
    ['3', {}],
  ] as const)
    await server.ok('PUT', `/tables/dhcphost/rows/node=n${number},mac=52:54:00:00:00:0${number},ip=10.9.0.5${number}`, {
      hostname: `n${number}`,
      ...more,
    });
  first = await cluster.worker('sn1', { environment: boot });
  await cluster.worker('sn2', { environment: boot });
});
afterAll(() => cluster?.remove());

/** Where nodes boot from, by their reservations. */
async function bootServers(): Promise<Record<string, string | undefined>> {
  const rows = (await cluster.server.ok('GET', '/tables/dhcphost/rows')) as {
    dhcphost: { node: string; nextserver?: string }[];
  };
  return Object.fromEntries(rows.dhcphost.map(({ node, nextserver }) => [node, nextserver ?? '']));
}

const others = { n2: '10.9.0.200', n3: '' };

test('nodes boot from the first of their workers that serves boot files', async () => {
  await expect.poll(bootServers).toEqual({ n1: '10.9.0.11', ...others });
  await cluster.listed('sn1', ({ boots }) => boots === 1);
});

test('a worker that dies is followed by the next, and comes first again when it is back', async () => {
  const { server } = cluster;
  await first.kill();
  await expect.poll(bootServers).toEqual({ n1: '10.9.0.12', ...others });
  await expect
    .poll(() => server.output())
    .toContain('n1 now boots from the service node sn2, the first in servicenode that serves');
  first = await cluster.worker('sn1', { environment: boot });
  await expect.poll(bootServers).toEqual({ n1: '10.9.0.11', ...others });
});

test('a change of definitions is followed', async () => {
  const { server } = cluster;
  await server.ok('PUT', '/nodes/sn1', { setuptftp: '0' });
  await expect.poll(bootServers).toEqual({ n1: '10.9.0.12', ...others });
  // The server comes first, by its address as well as by its name.
  await server.ok('PUT', '/nodes/n1', { servicenode: '127.0.0.1,sn2' });
  await expect.poll(bootServers).toEqual({ n1: '', ...others });
  await server.ok('PUT', '/nodes/n1', { servicenode: 'sn2' });
  await expect.poll(bootServers).toEqual({ n1: '10.9.0.12', ...others });
  await server.ok('PUT', '/nodes/n1', { servicenode: '' });
  await expect.poll(bootServers).toEqual({ n1: '', ...others });
  await expect
    .poll(() => server.output())
    .toContain('n1 now boots from the server: no service node serves boot files for them.');
});

test('the list of servers says who serves boot files, and why somebody does not', async () => {
  const { serves } = await cluster.listed('sn2', ({ state }) => state === 'connected');
  expect(serves).toEqual(['boot']);
  await cluster.worker('sn3', { waits: false });
  const { problem } = await cluster.listed('sn3', ({ state }) => state === 'connected');
  expect(problem).toContain('It serves no boot files, though setuptftp is 1: set boot.listen and boot.tftpListen');
});
