import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askGuest } from '../lab/libvirt/telling.ts';
import { startVmWorld, type VmWorld } from './world.ts';

describe('snapshots of virtual machines', { timeout: 120_000 }, () => {
  let world: VmWorld;
  beforeAll(async () => {
    world = await startVmWorld('127.51');
    const { images } = world.lab;
    const machine = { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmstoragemodel: 'virtio' };
    await world.server.ok('PUT', '/nodes', {
      s1: { ...machine, vmstorage: `dir://${images}` },
      s2: { ...machine, vmstorage: `dir://${images}`, vmstorageformat: 'raw' },
      s3: { ...machine, vmstorage: `dir://${images}` },
      s4: { ...machine, vmstorage: join(images, 's3.vdb.qcow2') },
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
    expect(await world.complaints('PUT', '/nodes/s1/vm', { purgedisk: 'vdb' })).toEqual([
      's1: it has snapshots (empty, one, two), which need its disks. Delete them first with DELETE /nodes/s1/snapshots, or use force.',
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

  it('of an earlier machine in a disk are not taken for those of the next', async () => {
    const { server } = world;
    await server.ok('PUT', '/nodes/s1/power', { action: 'off' });
    expect(await world.complaints('DELETE', '/nodes/s1/vm')).toEqual([
      's1: it has snapshots (cut), which cannot be used without it. Delete them first with DELETE /nodes/s1/snapshots, or use force to delete them with it.',
    ]);
    await server.ok('DELETE', '/nodes/s1/vm', { force: 'yes' });
    expect(await held('s1.vda.qcow2')).toEqual([]);
    await server.ok('POST', '/nodes/s1/vm', { memorysize: '32' });
    await take('old');
    await world.lab.virsh('undefine', 's1', '--snapshots-metadata');
    await server.ok('POST', '/nodes/s1/vm', { memorysize: '32' });
    expect(await names()).toEqual([]);
    expect(await world.complaints('POST', '/nodes/s1/snapshots', { name: 'old' })).toEqual([
      `s1: its disk vda already holds a snapshot old that libvirt does not know, which an earlier machine may have left. Use another name, or switch the machine off and delete the old snapshot on localhost with "qemu-img snapshot -d old ${world.lab.images}/s1.vda.qcow2".`,
    ]);
    await take('cut');
    expect(await held('s1.vda.qcow2')).toEqual(['old', 'cut']);
    // As an earlier muster left it.
    await world.lab.inside('qemu-img', 'snapshot', '-c', 'cut', `${world.lab.images}/s1.vdb.qcow2`);
    for (const [method, body] of [
      ['PUT', { action: 'revert' }],
      ['DELETE', undefined],
    ] as const)
      expect((await world.complaints(method, '/nodes/s1/snapshots/cut', body))[0]).toMatch(
        /^s1: its disk vdb already holds a snapshot cut that libvirt does not know/,
      );
    await world.lab.inside('qemu-img', 'snapshot', '-d', 'cut', `${world.lab.images}/s1.vdb.qcow2`);
    await revert('cut');
  });

  it('say what is wrong', async () => {
    const complain = async (method: string, path: string, body?: object) =>
      (await world.complaints(method, path, body))[0];
    expect(await complain('POST', '/nodes/s1/snapshots', { name: 'cut' })).toBe(
      's1: it already has a snapshot cut; give another name.',
    );
    const wrong =
      'is not a name for a snapshot: use up to 63 letters and digits, not only digits, and . _ - after the first.';
    for (const name of ['1', '../../x', '-x', 'a b', '<x/>', 'x'.repeat(64)])
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

  it('do not touch disks that another machine has by now, and are reverted to as a whole or not at all', async () => {
    const { server, lab } = world;
    const [first, second] = ['s3.vda.qcow2', 's3.vdb.qcow2'].map((name) => join(lab.images, name)) as [string, string];
    const write = (disk: string, pattern: string) =>
      lab.inside('qemu-io', '-f', 'qcow2', '-c', `write -P ${pattern} 0 64k`, disk);
    await server.ok('POST', '/nodes/s3/vm', { memorysize: '32', disksize: '4M,4M' });
    await server.ok('POST', '/nodes/s3/snapshots', { name: 'both' });
    await server.ok('PUT', '/nodes/s3/vm', { detachdisk: 'vdb' });
    await server.ok('POST', '/nodes/s4/vm', { memorysize: '32' });
    await write(first, '0x61');
    await write(second, '0x62');
    const before = [first, second].map((disk) => readFileSync(disk));
    const complain = async (method: string, body?: object) =>
      (await world.complaints(method, '/nodes/s3/snapshots/both', body))[0];
    const used = `s3: the disk ${second} is in use by the machine s4 on localhost.`;
    expect(await complain('PUT', { action: 'revert' })).toBe(used);
    expect(await complain('DELETE')).toBe(used);
    await server.ok('DELETE', '/nodes/s4/vm', { purge: 'yes', force: 'yes' });
    expect(await complain('PUT', { action: 'revert' })).toBe(
      `s3: its snapshot both is incomplete: its disk vdb of that time, ${second}, no longer holds it. Nothing was changed. Delete the snapshot with DELETE /nodes/s3/snapshots/both.`,
    );
    expect([readFileSync(first).equals(before[0]!), existsSync(second)]).toEqual([true, false]);
    await server.ok('DELETE', '/nodes/s3/snapshots/both');
    expect(await held('s3.vda.qcow2')).toEqual([]);
  });

  it('with names that only virsh gives can be shown and deleted, and one that stays keeps no other', async () => {
    const { server, lab } = world;
    const odd = ['a b', 'x'.repeat(70)];
    for (const name of [...odd, '1']) await lab.virsh('snapshot-create-as', 's3', name);
    expect(await server.ok('GET', `/nodes/s3/snapshots/${encodeURIComponent('a b')}`)).toMatchObject({
      s3: { power: 'off' },
    });
    await server.ok('DELETE', `/nodes/s3/snapshots/${encodeURIComponent('a b')}`);
    await lab.virsh('snapshot-create-as', 's3', 'a b');
    // An earlier machine may have left it, in another disk of that name.
    await lab.inside('qemu-img', 'snapshot', '-c', 'a b', join(lab.images, 's3.vda.qcow2'));
    expect(await world.complaints('DELETE', '/nodes/s3/snapshots')).toEqual([
      expect.stringMatching(
        /^s3: its snapshot a b could not be deleted: its disk vda already holds .* "qemu-img snapshot -d 'a b' \S+"\.$/,
      ),
    ]);
    expect(await server.ok('GET', '/nodes/s3/snapshots')).toEqual({ s3: { snapshots: ['a b'] } });
    await lab.inside('qemu-img', 'snapshot', '-d', 'a b', join(lab.images, 's3.vda.qcow2'));
    await server.ok('DELETE', '/nodes/s3/snapshots');
  });

  it('in files of their own stay while a disk of others is based on them, or on what they would be written to', async () => {
    const { server, lab } = world;
    const [base, file, theirs] = ['s3.vda.qcow2', 's3.ext.qcow2', 'theirs.qcow2'].map((name) =>
      join(lab.images, name),
    ) as [string, string, string];
    await server.ok('PUT', '/nodes/s3/power', { action: 'on' });
    await lab.virsh('snapshot-create-as', 's3', 'ext', '--disk-only', '--diskspec', `vda,file=${file}`);
    for (const under of [base, file]) {
      await lab.inside('qemu-img', 'create', '-q', '-u', '-f', 'qcow2', '-F', 'qcow2', '-b', under, theirs, '4M');
      expect(await world.complaints('DELETE', '/nodes/s3/snapshots/ext')).toEqual([
        `s3: the disk ${under} is in use by the disk ${theirs}, which is based on it, on localhost.`,
      ]);
      await lab.inside('rm', theirs);
    }
    await server.ok('DELETE', '/nodes/s3/snapshots/ext');
    expect([existsSync(base), existsSync(file)]).toEqual([true, false]);
    // With the machine goes what nobody would know of without it.
    await lab.virsh('snapshot-create-as', 's3', 'ext', '--disk-only', '--diskspec', `vda,file=${file}`);
    await server.ok('DELETE', '/nodes/s3/vm', { purge: 'yes', force: 'yes' });
    expect([existsSync(base), existsSync(file)]).toEqual([false, false]);
  });
});
