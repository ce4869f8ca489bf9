import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askGuest } from '../lab/libvirt/telling.ts';
import { startVmWorld, type VmWorld } from './world.ts';

describe('snapshots of virtual machines', { timeout: 120_000 }, () => {
  let world: VmWorld;
  beforeAll(async () => {
    world = await startVmWorld('127.134');
    const { images } = world.lab;
    const machine = { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmstoragemodel: 'virtio' };
    await world.server.ok('PUT', '/nodes', {
      s1: { ...machine, vmstorage: `dir://${images}` },
      s2: { ...machine, vmstorage: `dir://${images}`, vmstorageformat: 'raw' },
    });
    await world.placeGuest('s1');
    await world.server.ok('POST', '/nodes/s1/vm', { memorysize: '32' });
    await world.server.ok('PUT', '/nodes/s1/vm', { adddisk: '4M' });
    await world.server.ok('POST', '/nodes/s2/vm', { memorysize: '32', disksize: '4M' });
  });
  afterAll(() => world?.stop());

  const take = (name: string, more = {}) => world.server.ok('POST', '/nodes/s1/snapshots', { name, ...more });
  const revert = (name: string) => world.server.ok('PUT', `/nodes/s1/snapshots/${name}`, { action: 'revert' });
  const names = async () => (await world.server.ok('GET', '/nodes/s1/snapshots')).s1.snapshots;
  const stateOf = () => world.lab.virsh('domstate', 's1');
  const lastDisk = async () => (await askGuest(world.lab, 's1')).disks.at(-1);
  const held = async (disk: string) => {
    const { snapshots = [] } = (await world.diskInfo(disk)) as { snapshots?: { name: string }[] };
    return snapshots.map(({ name }) => name);
  };

  it('hold what is on disks that do not run', async () => {
    expect(await names()).toEqual([]);
    await take('empty', { description: 'nothing <b>written</b>' });
    expect(await Promise.all(['s1.vda.qcow2', 's1.vdb.qcow2'].map(held))).toEqual([['empty'], ['empty']]);
    expect(await world.server.ok('GET', '/nodes/s1/snapshots/empty')).toEqual({
      s1: { created: expect.stringMatching(/^20\d\d-.*Z$/), power: 'off', description: 'nothing <b>written</b>' },
    });
  });

  it('hold the memory too of machines that run', async () => {
    await world.server.ok('PUT', '/nodes/s1/power', { action: 'on' });
    await askGuest(world.lab, 's1', 'ONE');
    await take('one');
    expect(await world.server.ok('GET', '/nodes/s1/snapshots/one')).toMatchObject({
      s1: { power: 'on', parent: 'empty' },
    });
    await askGuest(world.lab, 's1', 'TWO');
    await revert('one');
    await expect.poll(lastDisk, { timeout: 60_000 }).toBe('4f4e4500:4M');
    expect(await stateOf()).toBe('running');
    await revert('empty');
    expect(await stateOf()).toBe('shut off');
    await world.server.ok('PUT', '/nodes/s1/power', { action: 'on' });
    await expect.poll(lastDisk, { timeout: 60_000 }).toBe('00000000:4M');
    await revert('one');
    await expect.poll(lastDisk, { timeout: 60_000 }).toBe('4f4e4500:4M');
  });

  it('go one by one or all at once', async () => {
    await take('two');
    expect(await names()).toEqual(['empty', 'one', 'two']);
    expect((await world.lab.virsh('snapshot-list', 's1', '--name')).split('\n').sort()).toEqual([
      'empty',
      'one',
      'two',
    ]);
    await world.server.ok('DELETE', '/nodes/s1/snapshots/one');
    expect(await names()).toEqual(['empty', 'two']);
    await world.server.ok('DELETE', '/nodes/s1/snapshots');
    expect([await names(), await held('s1.vdb.qcow2'), await stateOf()]).toEqual([[], [], 'running']);
  });

  it('are there or not when libvirt dies meanwhile, and the machine goes on', async () => {
    const thaw = await world.lab.freeze('s1');
    const isAtWork = () => world.lab.jobOf('s1') === 'snapshot';
    const reply = await world.killDuring(
      isAtWork,
      world.server.call('POST', '/nodes/s1/snapshots', { body: { name: 'cut' } }),
      thaw,
    );
    expect([reply.status, reply.json.error]).toEqual([403, [expect.stringMatching(/^s1: libvirt on localhost /)]]);
    expect([await names(), await stateOf()]).toEqual([[], 'running']);
    await expect.poll(lastDisk, { timeout: 60_000 }).toBe('4f4e4500:4M');
    await take('cut');
    expect(await names()).toEqual(['cut']);
  });

  it('say what is wrong', async () => {
    const complain = async (method: string, path: string, body?: object) =>
      (await world.complaints(method, path, body))[0];
    expect(await complain('POST', '/nodes/s1/snapshots', { name: 'cut' })).toBe(
      's1: it already has a snapshot cut; give another name.',
    );
    const wrong = 'is not a name for a snapshot: use up to 63 letters and digits, and . _ - after the first.';
    for (const name of ['../../x', '-x', 'a b', '<x/>', 'x'.repeat(64)])
      expect(await complain('POST', '/nodes/s1/snapshots', { name })).toBe(`s1: "${name}" ${wrong}`);
    expect(await complain('POST', '/nodes/s2/snapshots', { name: 'x' })).toBe(
      's2: its disk vda is raw, and only qcow2 can hold snapshots.',
    );
    expect(await complain('DELETE', '/nodes/s1/snapshots/none')).toBe('s1: it has no snapshot none.');
    expect(await complain('PUT', '/nodes/s1/snapshots/none', { action: 'revert' })).toBe(
      's1: it has no snapshot none.',
    );
    expect(await complain('PUT', '/nodes/s1/snapshots/cut', { action: 'burn' })).toBe(
      '"burn" is no action on snapshots; known is revert.',
    );
  });
});
