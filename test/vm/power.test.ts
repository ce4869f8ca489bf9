import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStream } from '../hardware/stream.ts';
import { ended, muster } from '../harness/muster-command.ts';
import { addUser } from '../harness/users.ts';
import { startVmWorld, type VmWorld } from './world.ts';

describe('virtual machines on libvirt', { timeout: 120_000 }, () => {
  let world: VmWorld;
  let console: string;
  beforeAll(async () => {
    world = await startVmWorld('127.48', 'powerTimeout = 30');
    const { server, lab } = world;
    console = join(lab.directory, 'console');
    await server.ok('PUT', '/nodes', {
      v1: { groups: 'vms', mgt: 'kvm', vmhost: 'localhost' },
      v2: { groups: 'vms', mgt: 'kvm', vmhost: 'far' },
      absent: { groups: 'all', mgt: 'kvm', vmhost: 'localhost' },
      lost: { groups: 'all', mgt: 'kvm' },
      nowhere: { groups: 'all', mgt: 'kvm', vmhost: 'unheard-of' },
    });
    await Promise.all([
      world.makeByHand('v1', { disk: lab.bootDisk, console }),
      world.makeByHand('v2', { uuid: '00000000-1111-2222-3333-444444444444' }),
    ]);
  });
  afterAll(() => world?.stop());

  const power = (range: string, action: string) => world.server.ok('PUT', `/nodes/${range}/power`, { action });
  const stateOf = (node: string) => world.lab.virsh('domstate', '--reason', node);

  it('are switched on and off, on this machine and behind SSH', async () => {
    expect(await world.server.ok('GET', '/nodes/vms/power')).toEqual({ v1: { power: 'off' }, v2: { power: 'off' } });
    await power('vms', 'on');
    expect(await Promise.all(['v1', 'v2'].map(stateOf))).toEqual(['running (booted)', 'running (booted)']);
    expect(await world.server.ok('GET', '/nodes/vms/power')).toEqual({ v1: { power: 'on' }, v2: { power: 'on' } });
    await power('vms', 'on');
    await power('v2', 'off');
    expect(await stateOf('v2')).toBe('shut off (destroyed)');
  });

  it('switch themselves off when their power button is pressed', async () => {
    await expect.poll(() => readFileSync(console, 'utf8'), { timeout: 60_000 }).toContain('R');
    await power('v1', 'reset');
    await expect.poll(() => readFileSync(console, 'utf8'), { timeout: 60_000 }).toContain('RR');
    await power('v1', 'softoff');
    expect(await stateOf('v1')).toBe('shut off (shutdown)');
  });

  it('boot once what nextboot says, and then what they always do', async () => {
    const { server, lab } = world;
    const order = async () => (await lab.virsh('dumpxml', '--inactive', 'v2')).match(/(?<=boot dev=')\w+/g);
    const running = async () => (await lab.virsh('dumpxml', 'v2')).match(/(?<=boot dev=')\w+/g);
    expect(await server.ok('GET', '/nodes/v2/nextboot')).toEqual({ v2: { nextboot: 'boot override inactive' } });
    await power('v2', 'on');
    await server.ok('PUT', '/nodes/v2/nextboot', { order: 'net' });
    expect(await server.ok('GET', '/nodes/v2/nextboot')).toEqual({ v2: { nextboot: 'Network' } });
    expect([await order(), await running()]).toEqual([['network', 'hd'], ['hd']]);
    await power('v2', 'reset');
    expect([await order(), await running()]).toEqual([['hd'], ['network', 'hd']]);
    expect(await server.ok('GET', '/nodes/v2/nextboot')).toEqual({ v2: { nextboot: 'boot override inactive' } });
    await server.ok('PUT', '/nodes/v2/nextboot', { order: 'cd' });
    await server.ok('PUT', '/nodes/v2/nextboot', { order: 'def' });
    expect(await order()).toEqual(['hd']);
    expect(await world.complaints('PUT', '/nodes/v2/nextboot', { order: 'setup' })).toEqual([
      'v2: a virtual machine cannot boot from "setup"; use net, hd, cd, floppy, def.',
    ]);
  });

  it('tell what they are made of', async () => {
    const { v1 } = await world.server.ok('GET', '/nodes/v1/inventory');
    expect(v1).toEqual({
      'UUID/GUID': await world.lab.virsh('domuuid', 'v1'),
      'System Model/MTM': expect.stringMatching(/^pc-i440fx-[\d.]+ \(x86_64\)$/),
      Firmware: 'BIOS',
      CPUs: '1',
      Memory: '16 MB',
      'Maximum Memory': '16 MB',
      'Disk vda': `${world.lab.bootDisk} (virtio)`,
    });
    expect(await world.server.ok('GET', '/nodes/v1/inventory/cpu')).toEqual({ v1: { CPUs: '1' } });
  });

  it('tell what they take', async () => {
    const { server, lab } = world;
    await power('v1', 'on');
    await expect.poll(async () => (await server.ok('GET', '/nodes/v1/vitals')).v1['Disk vda Read']).toBe('512 bytes');
    const { v1 } = await server.ok('GET', '/nodes/v1/vitals');
    expect(v1).toMatchObject({
      'Power Status': 'on',
      'CPU Time': expect.stringMatching(/^\d+\.\d\d s$/),
      'CPU 0 Time': expect.stringMatching(/^\d+\.\d\d s$/),
      Memory: '16 MB',
      'Memory on Hypervisor': expect.stringMatching(/^\d+ MB$/),
      'Disk vda Capacity': `${1 << 20} bytes`,
    });
    expect(await lab.virsh('domstats', 'v1', '--block')).toContain('block.0.rd.bytes=512');
    expect(await server.ok('GET', '/nodes/v1/vitals/power')).toEqual({ v1: { 'Power Status': 'on' } });
    await power('v1', 'off');
  });

  it('are listed by their hypervisor', async () => {
    const { v1, v2 } = await world.server.ok('GET', '/nodes/far/subnodes');
    expect(v1).toMatchObject({ mgt: 'kvm', vmhost: 'far', power: 'off' });
    expect(v2).toMatchObject({ uuid: '00000000-1111-2222-3333-444444444444', power: 'on' });
    const { port, token, data } = world.server;
    const env = { MUSTER_URL: `https://127.0.0.1:${port}`, MUSTER_TOKEN: token, MUSTER_CA: `${data}/tls/ca.pem` };
    const { code, stdout } = await ended(muster, ['lsvm', 'far'], env);
    expect([code, stdout.split('\n')]).toEqual([0, expect.arrayContaining(['v1', 'v2'])]);
  });

  it('are listed only to those whose rules cover them; machines that are no nodes only by a rule without a noderange', async () => {
    const { server } = world;
    await world.makeByHand('stranger');
    const token = await addUser(server, 'op');
    const listed = async (node: string) =>
      Object.keys(await server.ok('GET', `/nodes/${node}/subnodes`, undefined, { token })).sort();
    const rule = (noderange: string) =>
      server.ok('PUT', '/policy/2', { name: 'op', rule: 'allow', commands: 'rscan', noderange });
    await server.ok('PUT', '/policy/3', { name: 'op', rule: 'allow', commands: 'lsdef,nodels' });
    await rule('v1');
    expect(await listed('v1')).toEqual(['v1']);
    await rule('v2,far');
    expect(await listed('far')).toEqual(['v2']);
    await rule('');
    expect(await listed('v1')).toEqual(expect.arrayContaining(['stranger', 'v1', 'v2']));
    await server.ok('PUT', '/policy/1.5', { name: 'op', rule: 'deny', commands: 'rscan', noderange: 'v2' });
    expect(await listed('v1')).toEqual(['stranger', 'v1']);
    await world.lab.virsh('undefine', 'stranger');
    for (const priority of ['1.5', '2', '3']) await server.ok('DELETE', `/policy/${priority}`);
  });

  it('say what is wrong with them', async () => {
    expect(await world.complaints('PUT', '/nodes/absent,lost,nowhere/power', { action: 'on' })).toEqual([
      'absent: there is no virtual machine absent on localhost.',
      'lost: its attribute vmhost, the hypervisor it is on, is not set.',
      'nowhere: no address is known of unheard-of; set its ip, or make it known to DNS.',
    ]);
    expect(await world.complaints('PUT', '/nodes/v1/power', { action: 'wake' })).toEqual([
      'v1: a virtual machine has no power action "wake"; it has on, off, softoff, reset, boot, cycle, nmi.',
    ]);
  });

  it('are followed when their daemon dies and when others change them', async () => {
    await power('v2', 'on');
    await world.lab.killDaemon();
    expect(await world.server.ok('GET', '/nodes/vms/power')).toEqual({ v1: { power: 'off' }, v2: { power: 'on' } });
    await power('v2', 'off');
    await world.lab.virsh('undefine', 'v2');
    await world.makeByHand('v2');
    await power('v2', 'on');
    expect(await stateOf('v2')).toBe('running (booted)');
    await world.lab.virsh('suspend', 'v2');
    expect(await world.server.ok('GET', '/nodes/v2/power')).toEqual({ v2: { power: 'paused' } });
    await power('v2', 'on');
    expect(await stateOf('v2')).toBe('running (unpaused)');
  });

  it('do not wait for a hypervisor that is silent behind SSH', async () => {
    const { server, ssh } = world;
    const mute = createServer((socket) => socket.on('error', () => undefined));
    await new Promise<void>((resolve) => mute.listen(ssh.port, '127.48.200.9', resolve));
    await server.ok('PUT', '/nodes', {
      mute: { groups: 'all', ip: '127.48.200.9' },
      v0: { groups: 'all', mgt: 'kvm', vmhost: 'mute' },
    });
    const stream = await openStream(server, 'GET', '/nodes/v0,v1,v2/power');
    const answered = () => stream.lines.filter(({ json }) => json.value).map(({ json }) => json.node);
    await expect.poll(answered, { timeout: 60_000 }).toHaveLength(2);
    await stream.ended;
    expect(stream.lines.find(({ json }) => json.node === 'v0')!.json.error).toMatch(/sshd at 127\.48\.200\.9/);
    mute.close();
  });

  it('are not to be had when their hypervisor is gone, and their neighbours are', async () => {
    world.ssh.sever(0);
    await world.ssh.stop();
    const [complaint] = await world.complaints('GET', '/nodes/vms/power');
    expect(complaint).toMatch(/^v2: its sshd at 127\.48\.\S+ refused the connection\.$/);
  });
});
