import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KeaAway, KeaControl } from '../../../src/protocols/kea/control.ts';
import { anonymousEntries } from '../../harness/raw-sqlite.ts';
import { makeWire, type Wire } from '../../lab/dhcp.ts';
import {
  removeDirectory,
  rootPassword,
  type Service,
  startService,
  stopService,
  temporaryDirectory,
} from '../../process/process.ts';

/** A whole muster in the server's namespace, spoken to by curl from there. */
describe('muster with Kea', () => {
  let wire: Wire;
  let service: Service;
  let token: string;
  const data = temporaryDirectory();

  const start = async (): Promise<void> => {
    const environment = { MUSTER_DHCP_DAEMON: 'process' };
    service = await startService(data, { under: wire.server.command('env'), environment });
  };

  // oxlint-disable-next-line no-explicit-any -- tests look into replies of every shape
  const call = (method: string, path: string, body?: unknown): Promise<{ status: number; text: string; json: any }> =>
    new Promise((resolve) => {
      const url = `https://127.0.0.1:${service.port}${path}`;
      const words = ['-sS', '-g', '-X', method, '--cacert', join(data, 'tls/ca.pem'), '-w', '\n%{http_code}', url];
      const sent = body === undefined ? [] : ['-H', 'Content-Type: application/json', '-d', JSON.stringify(body)];
      const [program, ...args] = wire.server.command('curl', ...words, '-H', `X-Auth-Token: ${token}`, ...sent);
      execFile(program, args, (_error, stdout, stderr) => {
        const end = stdout.lastIndexOf('\n');
        const text = stdout.slice(0, end) || stderr;
        resolve({
          status: Number(stdout.slice(end + 1)),
          text,
          get json() {
            return JSON.parse(text);
          },
        });
      });
    });

  const ok = async (method: string, path: string, body?: unknown): Promise<void> => {
    const { status, text } = await call(method, `/muster${path}`, body);
    expect([status, text]).toEqual([method === 'POST' ? 201 : 200, expect.anything()]);
  };

  beforeAll(async () => {
    wire = makeWire(['10.77.0.1/16']);
    await start();
    token = '';
    token = (await call('POST', '/muster/tokens', { userName: 'root', userPW: rootPassword })).json.token.id;
    await ok('PUT', '/globalconf/attrs/domain', { domain: 'cluster.test' });
    await ok('POST', '/networks/mgmt', {
      net: '10.77.0.0',
      mask: '255.255.0.0',
      gateway: '10.77.0.254',
      dynamicrange: '10.77.200.1-10.77.200.50',
    });
    // An address with a label, as older scripts give a second one.
    wire.server.run('ip', 'address', 'add', '10.78.0.1/16', 'dev', wire.serverNic, 'label', `${wire.serverNic}:1`);
    await ok('POST', '/networks/second', { net: '10.78.0.0', mask: '255.255.0.0' });
    await ok('POST', '/groups/compute', { ip: '|\\D+(\\d+)|10.77.1.($1)|', mac: '|\\D+(\\d+)|52:54:01:00:00:($1)|' });
    await ok('POST', '/nodes/n10-n59', { groups: 'all,compute' });
  });
  afterAll(async () => {
    if (service) await stopService(service);
    wire?.remove();
    removeDirectory(data);
  });

  const mac = (index: number): string => `52:54:01:00:00:${index}`;
  const control = new KeaControl(join(data, 'dhcp/kea4.sock'));
  const served = async (): Promise<number[]> => {
    const text = JSON.stringify(await control.tell('config-get').catch(() => ''));
    return [...text.matchAll(/"hw-address":"52:54:01:00:00:(\d+)"/g)]
      .map(([, index]) => Number(index))
      .sort((a, b) => a - b);
  };

  it('says how to begin', async () => {
    const { status, text } = await call('POST', '/muster/nodes/n10/dhcp?debug=1');
    expect([status, text]).toEqual([201, expect.stringContaining('POST /services/dhcp configures it')]);
  });

  it('serves the networks and the nodes, without output', async () => {
    await ok('POST', '/services/dhcp');
    expect(await call('POST', '/muster/nodes/n10,n11/dhcp')).toMatchObject({ status: 201, text: '' });
    expect(await wire.ask(mac(10))).toMatchObject({ ip: '10.77.1.10', router: '10.77.0.254', hostname: 'n10' });
    expect(await call('DELETE', '/xcatws/nodes/n10/dhcp')).toMatchObject({ status: 200, text: '' });
    expect(await served()).toEqual([11]);
    expect(anonymousEntries(join(data, 'muster.sqlite'))).toEqual([]);
  });

  it('shows the leases at its own root only, and none of a reservation that was taken back', async () => {
    await wire.ask(mac(11));
    const { status, json } = await call('GET', '/muster/services/dhcp/leases');
    expect(status).toBe(200);
    expect(JSON.stringify(json)).not.toContain('10.77.1.10');
    expect(json).toContainEqual({
      address: '10.77.1.11',
      mac: mac(11),
      hostname: 'n11',
      network: 'mgmt',
      expires: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
    expect((await call('GET', '/xcatws/services/dhcp/leases')).status).toBe(404);
  });

  it('tells with debug=1 what was left out', async () => {
    await ok('POST', '/nodes/bare', { groups: 'all' });
    const { json } = await call('POST', '/muster/nodes/bare/dhcp?debug=1');
    expect(json.debug).toContain('Unable to find mac address for bare');
  });

  it('refuses unknown nodes and wrong values, by name', async () => {
    expect((await call('POST', '/muster/nodes/nobody/dhcp')).status).toBe(404);
    expect((await call('POST', '/xcatws/nodes/nobody/dhcp')).status).toBe(403);
    await ok('POST', '/nodes/twin', { groups: 'all', ip: '10.77.3.3', mac: mac(11) });
    const { status, json } = await call('POST', '/muster/nodes/n12,twin/dhcp');
    const reason = `Node twin, mac.mac: the MAC address ${mac(11)} is reserved for node n11 already.`;
    const remedy = 'Do POST /nodes/n11,twin/dhcp if both were changed, or DELETE /nodes/n11/dhcp first.';
    expect([status, json.error]).toEqual([403, [`${reason} ${remedy}`, 'All other nodes of the request are done.']]);
    expect(await served()).toEqual([11, 12]);
    await ok('DELETE', '/nodes/n12/dhcp');
  });

  it('serves what was acknowledged and nothing else, after it was killed at random moments', async () => {
    const wanted = new Set([11]);
    let next = 12;
    for (let round = 0; round < 3; round++) {
      const asked = Array.from({ length: 6 }, (_, i) => next + i);
      next += asked.length;
      const killing = pause(Math.random() * 250).then(() => service.process.kill('SIGKILL'));
      const replies = await Promise.all(asked.map((index) => call('POST', `/muster/nodes/n${index}/dhcp`)));
      await killing;
      await service.exited;
      await start();
      for (const [i, { status }] of replies.entries()) if (status === 201) wanted.add(asked[i]!);
      // A request that got no answer may have been done or not, but all agree on which.
      await expect
        .poll(async () => (await served()).filter((index) => !asked.includes(index) || wanted.has(index)), {
          timeout: 60_000,
        })
        .toEqual([...wanted].sort((a, b) => a - b));
      const again = await call('POST', `/muster/nodes/n${asked[0]}-n${asked.at(-1)}/dhcp`);
      expect(again.status).toBe(201);
      for (const index of asked) wanted.add(index);
      expect(await served()).toEqual([...wanted].sort((a, b) => a - b));
    }
    expect((await wire.ask(mac(next - 1)))?.['ip']).toBe(`10.77.1.${next - 1}`);
  });

  it('ends Kea when it ends', async () => {
    expect(await stopService(service)).toBe(0);
    await expect(control.ask('status-get')).rejects.toThrow(KeaAway);
    await start();
    await expect.poll(async () => (await served()).length, { timeout: 60_000 }).toBeGreaterThan(15);
  });
});
