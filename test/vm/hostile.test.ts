import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EventClient } from '../harness/events.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { type LibvirtLab, startLibvirt } from '../lab/libvirt.ts';
import { makeCertificates } from '../lab/libvirt/certificates.ts';
import { guestXml } from '../lab/libvirt/guest.ts';

const patience = { timeout: 60_000, interval: 200 };
const hostUuid = '00000000-eeee-bbbb-cccc-000000000001';
const uuidOf = (name: string): string =>
  `00000000-aaaa-bbbb-cccc-${Buffer.from(name).toString('hex').padStart(12, '0')}`;

/** `localhost` is the hypervisor of the nodes v1 to v4; `hv2` is another, which claims to be that one and to have its machines. */
describe('a hypervisor that claims machines of another', { timeout: 120_000 }, () => {
  let server: TestServer;
  let home: LibvirtLab;
  let hostile: LibvirtLab;
  let everybody: EventClient;
  let limited: EventClient;
  const certificates = join(temporaryDirectory(), 'pki');

  beforeAll(async () => {
    makeCertificates(certificates, 'hv2');
    [home, hostile] = await Promise.all([
      startLibvirt({ hostUuid }),
      startLibvirt({ hostUuid, tls: { address: '127.139.0.2', certificates } }),
    ]);
    server = await startServer({
      config: `[hardware]\naccelerator = "qemu"\nlibvirtSocket = ${JSON.stringify(home.socket)}\nlibvirtCertificates = ${JSON.stringify(certificates)}\n`,
    });
    const names = ['v1', 'v2', 'v3', 'v4'];
    const nodes = names.map((name) => [name, { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', status: 'booted' }]);
    const own = { groups: 'all', mgt: 'kvm', vmhost: 'hv2' };
    await Promise.all([...names.map((name) => define(home, name)), define(hostile, 'own')]);
    await server.ok('PUT', '/nodes', {
      hv2: { groups: 'all', ip: '127.139.0.2', hosttype: 'kvm' },
      own,
      ...Object.fromEntries(nodes),
    });
    const token = await addUser(server, 'op');
    await server.ok('POST', '/policy/2', { name: 'op', rule: 'allow', commands: 'events', noderange: 'v2,own' });
    everybody = await EventClient.open(server, { query: { kinds: 'notice' } });
    limited = await EventClient.open(server, { query: { kinds: 'notice' }, token });
    await Promise.all([everybody.ready(), limited.ready()]);
  });
  afterAll(async () => {
    everybody?.close();
    limited?.close();
    await server?.stop();
    await Promise.all([home?.stop(), hostile?.stop()]);
  });

  async function define(lab: LibvirtLab, name: string): Promise<void> {
    const file = join(lab.directory, `${name}.xml`);
    writeFileSync(file, guestXml(name, { uuid: uuidOf(name) }));
    await lab.virsh('define', file);
  }
  const attribute = async (node: string, name: string): Promise<string> =>
    (await server.ok('GET', `/nodes/${node}/attrs/${name}`))[node][name];
  const claimed = (client: EventClient, node: string) =>
    client.event(({ kind, nodes }) => kind === 'notice' && nodes.includes(node));
  const shown = async (node: string) => [await attribute(node, 'vmhost'), await attribute(node, 'status')];

  async function claim(node: string): Promise<void> {
    await define(hostile, node);
    await hostile.virsh('start', node);
  }

  it('is not looked at for the machines of their own', async () => {
    for (const node of ['v1', 'v2', 'v3', 'v4'])
      await expect.poll(() => attribute(node, 'status'), patience).toBe('powering-off');
  });

  it('is believed about neither vmhost nor status, also if it says that it is the same host', async () => {
    await claim('v1');
    const { data } = await claimed(everybody, 'v1');
    const sentence =
      'whose vmhost is localhost. Their vmhost and status were not changed. If they have moved, confirm it for each NODE with "chdef NODE vmhost=hv2", or name hv2 in its migrationdest.';
    expect(data).toEqual({
      kind: 'notice',
      time: expect.stringMatching(/Z$/),
      nodes: ['v1'],
      message: `hv2 has virtual machines with the names and UUIDs of these nodes, ${sentence}`,
    });
    await expect
      .poll(() => server.output(), patience)
      .toContain(JSON.stringify(`hv2 has virtual machines with the names and UUIDs of v1, ${sentence}`));
    expect(await shown('v1')).toEqual(['localhost', 'powering-off']);
  });

  it('is believed about its own machines', async () => {
    await hostile.virsh('start', 'own');
    await expect.poll(() => attribute('own', 'status'), patience).toBe('powering-on');
  });

  it('is not believed when the machine has left its home either, until somebody confirms the move', async () => {
    await home.virsh('undefine', 'v2');
    await claim('v2');
    await claimed(everybody, 'v2');
    await claimed(limited, 'v2');
    expect(await shown('v2')).toEqual(['localhost', 'powering-off']);
    await server.ok('PUT', '/nodes/v2', { vmhost: 'hv2' });
    expect(await server.ok('GET', '/nodes/v2/power')).toEqual({ v2: { power: 'on' } });
  });

  it('is believed as soon as the machine may move to it', async () => {
    await claim('v3');
    await claimed(everybody, 'v3');
    await server.ok('PUT', '/nodes/v3', { migrationdest: 'hv[2-3]' });
    await expect.poll(() => attribute('v3', 'vmhost'), patience).toBe('hv2');
  });

  it('is believed about a machine that muster was moving to it when it was stopped', async () => {
    await server.ok('PUT', '/tables/vmmove/rows/node=v4', { target: 'hv2', begun: new Date().toISOString() });
    await claim('v4');
    await expect.poll(() => attribute('v4', 'vmhost'), patience).toBe('hv2');
    const { vmmove } = await server.ok('GET', '/tables/vmmove/rows/node=v4');
    expect(vmmove).toEqual([{ node: 'v4', host: 'hv2' }]);
    expect(limited.blocks.filter(({ event }) => event === 'notice').map(({ data }) => data.nodes)).toEqual([['v2']]);
  });
});
