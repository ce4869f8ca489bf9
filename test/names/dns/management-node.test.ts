import { hostname } from 'node:os';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Site } from './site.ts';

const own = hostname().split('.')[0]!.toLowerCase();

let site: Site;
beforeAll(async () => {
  site = await Site.start();
  await site.server.ok('POST', '/services/dns');
});
afterAll(() => site.stop());

const define = (node: string, values: Readonly<Record<string, string>>) =>
  site.server.ok('PUT', '/nodes', { [node]: { groups: 'all', ...values } });

describe('the management node defined as a node', () => {
  it('is added to DNS though the hosts file has no line for it', async () => {
    await site.nodes({ [own]: { ip: '10.77.0.1', hostnames: 'console' } });
    expect(readFileSync(site.hostsFile, 'utf8')).toBe('127.0.0.1 localhost\n');
    await site.server.ok('POST', `/nodes/${own}/dns`);
    expect(site.dig('-x', '10.77.0.1')).toEqual([`${own}.cluster.test.`]);
    expect(site.dig('console.cluster.test', 'CNAME')).toEqual([`${own}.cluster.test.`]);
  });

  it('keeps its address as the name server when it is taken out', async () => {
    await site.server.ok('DELETE', `/nodes/${own}/dns`);
    await site.server.ok('DELETE', `/nodes/${own}`);
    expect(site.dig('console.cluster.test', 'CNAME')).toEqual([]);
    expect(site.dig('-x', '10.77.0.1')).toEqual([]);
    expect(site.dig(`${own}.cluster.test`)).toEqual(['10.77.0.1']);
  });
});

describe('another node', () => {
  it.each([
    [
      'its address',
      { ip: '10.77.0.1' },
      'x1, hosts.ip: 10.77.0.1 is an address of this management node; give the node',
    ],
    ['its name', { ip: '10.77.1.1', hostnames: own }, `x1, hosts.hostnames: "${own}" belongs to the management node.`],
    [
      'the address of a network',
      { ip: '10.77.0.0' },
      'x1, hosts.ip: 10.77.0.0 is the first or last address of network',
    ],
    ['a mapped address', { ip: '::ffff:10.77.1.1' }, 'x1, hosts.ip: ::ffff:10.77.1.1 is an IPv4-mapped address'],
  ])('cannot have %s: host and dns say the same', async (_name, values, sentence) => {
    await define('x1', { hostnames: '', ...values });
    for (const word of ['host', 'dns']) {
      const reply = await site.server.call('POST', `/nodes/x1/${word}`);
      expect([reply.status, reply.json.error[0]]).toEqual([403, expect.stringContaining(`Node ${sentence}`)]);
    }
  });

  it('cannot have the address of a node that is there: dns sends to host, and host says whose it is', async () => {
    await site.nodes({ y1: { ip: '10.77.2.1' } });
    await define('y2', { ip: '10.77.2.1' });
    const dns = await site.server.call('POST', '/nodes/y2/dns');
    expect(dns.json.error.at(-1)).toBe('Write the lines first with POST /nodes/y2/host.');
    const host = await site.server.call('POST', '/nodes/y2/host');
    expect([host.status, host.json.error[0]]).toEqual([
      403,
      expect.stringContaining('Node y2, hosts.ip: node y1 has the address 10.77.2.1 too'),
    ]);
  });
});
