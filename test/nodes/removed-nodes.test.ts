import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KeaControl } from '../../src/protocols/kea/control.ts';
import { Site } from '../names/dns/site.ts';

/** Servers on a busy machine. */
const patient = { timeout: 30_000 };

/** What muster wrote for a node, in a hosts file, a real BIND and a real Kea. */
describe('what was written for a node', () => {
  let site: Site;

  beforeAll(async () => {
    site = await Site.start();
    await site.server.stop();
    await start();
    // No interface of this machine is to be listened on.
    await site.attribute('dhcpinterfaces', 'nobody|none');
    await site.nodes(Object.fromEntries([1, 2, 3, 4, 5].map((i) => [`n${i}`, definition(i)])));
    await site.server.ok('POST', '/services/dns');
    await site.server.ok('POST', '/services/dhcp');
    await site.server.ok('POST', '/nodes/n1-n5/dns');
    await site.server.ok('POST', '/nodes/n1-n5/dhcp');
  });
  afterAll(() => site?.stop());

  const start = () => site.startMuster({ MUSTER_DHCP_DAEMON: 'process' });
  const definition = (i: number) => ({ ip: `10.77.9.${i}`, mac: `52:54:01:00:09:0${i}`, hostnames: `also${i}` });
  const hosts = (): string => readFileSync(site.hostsFile, 'utf8');
  const dns = (): string => [...site.zone('cluster.test'), ...site.zone('77.10.in-addr.arpa')].join('\n');
  const kea = async (): Promise<string> =>
    JSON.stringify(await new KeaControl(join(site.data, 'dhcp/kea4.sock')).tell('config-get'));
  const everywhere = async (): Promise<string> => [hosts(), dns(), await kea()].join('\n');
  const traces = (i: number) => new RegExp(`\\b(n${i}|also${i}|10\\.77\\.9\\.${i}|${i}\\.9\\.77\\.10)\\b`);

  it('goes with the node from the hosts file, DNS and DHCP, and POST /services/dns does not bring it back', async () => {
    expect(await everywhere()).toMatch(traces(1));
    await site.server.ok('DELETE', '/nodes/n1');
    await site.server.ok('POST', '/services/dns');
    await expect.poll(everywhere, patient).not.toMatch(traces(1));
    expect(await everywhere()).toMatch(traces(2));
  });

  it('goes whichever way the node is removed', async () => {
    await site.server.ok('DELETE', '/tables/nodelist/rows/node=n2');
    await expect.poll(() => hosts() + dns(), patient).not.toMatch(traces(2));
  });

  it('goes with the node to its new name', async () => {
    await site.server.ok('PUT', '/nodes/n3/rename', { newNode: 'm3' });
    await expect.poll(everywhere, patient).not.toMatch(/\bn3\b/);
    expect(hosts()).toMatch(/^10\.77\.9\.3 m3 /m);
    expect(site.dig('m3.cluster.test')).toEqual(['10.77.9.3']);
    expect(site.dig('-x', '10.77.9.3')).toEqual(['m3.cluster.test.']);
    expect(site.dig('also3.cluster.test')).toEqual(['10.77.9.3', 'm3.cluster.test.']);
    expect(await kea()).toContain('"hostname":"m3"');
  });

  it('goes by what was written, not by what the definition has become, and leaves lines of others', async () => {
    await site.server.ok('PUT', '/nodes/n4', { ip: '10.77.9.44' });
    writeFileSync(site.hostsFile, `${hosts()}10.77.9.99 other\n`);
    await site.server.ok('DELETE', '/nodes/n4');
    await expect.poll(everywhere, patient).not.toMatch(traces(4));
    expect(hosts()).toContain('10.77.9.99 other\n');
  });

  it('is found after a restart, where the name server was away too', async () => {
    const pid = site.namedPid();
    process.kill(pid, 'SIGSTOP');
    try {
      await site.server.ok('DELETE', '/nodes/n5');
    } finally {
      process.kill(pid, 'SIGKILL');
    }
    await site.server.stop();
    await start();
    await expect.poll(everywhere, patient).not.toMatch(traces(5));
  });
});
