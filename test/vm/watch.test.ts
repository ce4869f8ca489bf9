import { renameSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStream } from '../hardware/stream.ts';
import { EventClient } from '../harness/events.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { type LibvirtLab, startLibvirt } from '../lab/libvirt.ts';
import { makeCertificates } from '../lab/libvirt/certificates.ts';
import { guestXml } from '../lab/libvirt/guest.ts';

const patience = { timeout: 60_000, interval: 200 };
const uuid = '00000000-aaaa-bbbb-cccc-000000000001';

/** `localhost` is a hypervisor behind its socket, `hv2` one behind TLS, and `mute` takes connections and says nothing. */
describe('machines that somebody else works on', { timeout: 120_000 }, () => {
  let server: TestServer;
  let here: LibvirtLab;
  let there: LibvirtLab;
  const mute: Server = createServer((socket) => socket.on('error', () => undefined));
  const certificates = join(temporaryDirectory(), 'pki');

  beforeAll(async () => {
    makeCertificates(certificates, 'hv2');
    [here, there] = await Promise.all([
      startLibvirt(),
      startLibvirt({ tls: { address: '127.138.0.2', certificates } }),
      new Promise<void>((resolve) => mute.listen(16_514, '127.138.0.3', resolve)),
    ]);
    server = await startServer({
      config: `[hardware]\naccelerator = "qemu"\nlibvirtSocket = ${JSON.stringify(here.socket)}\nlibvirtCertificates = ${JSON.stringify(certificates)}\n`,
    });
    await Promise.all([define(here, 'w1', { uuid }), define(there, 'w2')]);
    const machine = { groups: 'vms', mgt: 'kvm' };
    await server.ok('PUT', '/nodes', {
      hv2: { groups: 'all', ip: '127.138.0.2', hosttype: 'kvm' },
      other: { groups: 'all', ip: '127.138.0.2' },
      mute: { groups: 'all', ip: '127.138.0.3' },
      w1: { ...machine, vmhost: 'localhost', migrationdest: 'localhost,hv2' },
      w2: { ...machine, vmhost: 'hv2', status: 'booted' },
      w3: { groups: 'all', mgt: 'kvm', vmhost: 'mute' },
      w4: { groups: 'all', mgt: 'kvm', vmhost: 'other' },
    });
  });
  afterAll(async () => {
    await server?.stop();
    mute.close();
    await Promise.all([here?.stop(), there?.stop()]);
  });

  async function define(lab: LibvirtLab, name: string, options: Parameters<typeof guestXml>[1] = {}): Promise<void> {
    const file = join(lab.directory, `${name}.xml`);
    writeFileSync(file, guestXml(name, options));
    await lab.virsh('define', file);
  }
  const attribute = async (node: string, name: string): Promise<string> =>
    (await server.ok('GET', `/nodes/${node}/attrs/${name}`))[node][name];
  const seen = (node: string, name: string) => expect.poll(() => attribute(node, name), patience);
  const power = async (range: string) => server.ok('GET', `/nodes/${range}/power`);

  it('have a status that was corrected when their hypervisor was first seen', async () => {
    await expect.poll(() => attribute('w2', 'status'), patience).toBe('powering-off');
  });

  it('are reached by TLS', async () => {
    await server.ok('PUT', '/nodes/w2/power', { action: 'on' });
    expect(await there.virsh('domstate', 'w2')).toBe('running');
    expect(await power('vms')).toEqual({ w1: { power: 'off' }, w2: { power: 'on' } });
  });

  it('are not reached where the certificate is that of another', async () => {
    const reply = await server.call('GET', '/nodes/w4/power');
    expect(reply.json.error).toEqual([
      expect.stringMatching(/^w4: libvirt on other \(.*\) is not to be trusted or does not trust us: /),
    ]);
  });

  it('have the status of what was done to them', async () => {
    await here.virsh('start', 'w1');
    await seen('w1', 'status').toBe('powering-on');
    await Promise.all([here.virsh('destroy', 'w1'), there.virsh('destroy', 'w2')]);
    await Promise.all([seen('w1', 'status').toBe('powering-off'), seen('w2', 'status').toBe('powering-off')]);
    expect(await power('vms')).toEqual({ w1: { power: 'off' }, w2: { power: 'off' } });
  });

  it('are followed to where they were carried, and the journal says so', async () => {
    await define(there, 'w1', { uuid });
    await there.virsh('start', 'w1');
    await here.virsh('undefine', 'w1');
    await seen('w1', 'vmhost').toBe('hv2');
    expect(await power('w1')).toEqual({ w1: { power: 'on' } });
    const { vm } = await server.ok('GET', '/tables/vm/nodes/w1');
    expect(vm).toMatchObject([{ name: 'w1', host: 'hv2' }]);
  });

  it('are followed when they migrate while they run', async () => {
    await server.ok('PUT', '/nodes/w1', { status: 'booted' });
    const to = `qemu+unix:///system?socket=${here.socket}`;
    const uri = `unix://${join(here.directory, 'migration')}`;
    const how = ['--live', '--p2p', '--unsafe', '--persistent', '--undefinesource', '--migrateuri', uri];
    await there.virsh('migrate', 'w1', to, ...how);
    await seen('w1', 'vmhost').toBe('localhost');
    expect(await attribute('w1', 'status')).toBe('booted');
    expect(await here.virsh('domstate', 'w1')).toBe('running');
  });

  it('of the same name that are others are not followed', async () => {
    await here.virsh('destroy', 'w1');
    await here.virsh('undefine', 'w1');
    await define(there, 'w1');
    await there.virsh('start', 'w1');
    await define(there, 'w5');
    await server.ok('PUT', '/nodes/w5', { groups: 'all', mgt: 'kvm', vmhost: 'hv2' });
    await there.virsh('start', 'w5');
    await seen('w5', 'status').toBe('powering-on');
    expect(await attribute('w1', 'vmhost')).toBe('localhost');
  });

  it('are asked for again as soon as their daemon listens', async () => {
    const { socket } = here;
    await define(here, 'w6');
    await server.ok('PUT', '/nodes/w6', { groups: 'all', mgt: 'kvm', vmhost: 'localhost' });
    renameSync(socket, `${socket}.away`);
    await here.inside('pkill', '-KILL', '-F', '/run/libvirtd.pid');
    const read = () => server.call('GET', '/nodes/w6/power');
    let reply = await read();
    expect(reply.json.error).toEqual([expect.stringMatching(/^w6: libvirt (cannot be reached at|on localhost) /)]);
    for (; reply.status !== 200; reply = await read())
      expect(reply.json.error[0]).not.toContain('is not retried before');
    expect(reply.json).toEqual({ w6: { power: 'off' } });
  });

  it('are followed again after their daemon has died', async () => {
    await server.ok('PUT', '/nodes/w5', { status: 'booted' });
    await server.ok('PUT', '/tables/vpd/nodes/w5', { vpd: { uuid: await there.virsh('domuuid', 'w5') } });
    await there.killDaemon();
    await expect.poll(() => there.virsh('domstate', 'w5'), patience).toBe('running');
    await there.virsh('destroy', 'w5');
    await seen('w5', 'status').toBe('powering-off');
    // Where it is stays known, whatever vmhost will be.
    expect((await server.ok('GET', '/tables/vmmove/rows/node=w5')).vmmove).toEqual([{ node: 'w5', host: 'hv2' }]);
  });

  it('that crash are told apart from those that are switched off', async () => {
    const events = await EventClient.open(server, { query: { kinds: 'power,notice' } });
    await events.ready();
    await there.virsh('start', 'w5');
    await seen('w5', 'status').toBe('powering-on');
    await there.inside('pkill', '-KILL', '-F', '/run/libvirt/qemu/w5.pid');
    await seen('w5', 'status').toBe('powering-off');
    const heard = (kind: string) => events.until((client) => client.events.find(({ event }) => event === kind)?.data);
    const isCrash = ({ data }: { data: { power?: string } }) => data.power === 'crashed';
    expect(await events.until((client) => client.events.find(isCrash)?.data)).toMatchObject({ nodes: ['w5'] });
    expect(await heard('notice')).toMatchObject({
      nodes: ['w5'],
      message:
        'the virtual machine w5 crashed on hv2. Look for the cause in /var/log/libvirt/qemu/w5.log there, then switch it on again.',
    });
    events.close();
  });

  it('do not wait for a hypervisor that says nothing', async () => {
    const stream = await openStream(server, 'GET', '/nodes/w2,w3,w5/power');
    const answered = () => stream.lines.filter(({ json }) => json.value).map(({ json }) => json.node);
    await expect.poll(answered, patience).toEqual(['w2', 'w5']);
    stream.leave();
  });
});
