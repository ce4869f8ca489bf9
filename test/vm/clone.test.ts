import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addUser } from '../harness/users.ts';
import { askGuest } from '../lab/libvirt/telling.ts';
import { startVmWorld, type VmWorld } from './world.ts';

describe('virtual machines that are cloned', { timeout: 120_000 }, () => {
  let world: VmWorld;
  let images: string;
  beforeAll(async () => {
    world = await startVmWorld('127.52');
    ({ images } = world.lab);
    const machine = { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmstorage: `dir://${images}` };
    await world.server.ok('PUT', '/nodes', {
      c1: { ...machine, vmstoragemodel: 'virtio', os: 'debian12', vmnics: 'br0' },
      ...Object.fromEntries(['c2', 'c3', 'c4', 'c5'].map((node) => [node, machine])),
      metal: { groups: 'all', mgt: 'ipmi', bmc: '127.52.200.1', bmcusername: 'a', bmcpassword: 'b' },
    });
    await world.placeGuest('c1');
    await world.server.ok('PUT', '/nodes/c1', { vmnics: '' });
    await world.server.ok('POST', '/nodes/c1/vm', { memorysize: '32', cpucount: '2' });
    await world.server.ok('PUT', '/nodes/c1/vm', { adddisk: '4M' });
    await world.server.ok('PUT', '/nodes/c1', { vmnics: 'br0' });
  });
  afterAll(() => world?.stop());

  const clone = (range: string, body: object) => world.server.ok('POST', `/nodes/${range}/vmclone`, body);
  const refusal = async (range: string, body: object) =>
    (await world.complaints('POST', `/nodes/${range}/vmclone`, body))[0];
  const taken = (name: string) => `The name ${name} is taken by a master, a node or a group; give the master another.`;
  const power = (range: string, action: string) => world.server.ok('PUT', `/nodes/${range}/power`, { action });
  const files = (of: string) =>
    readdirSync(images)
      .filter((name) => name.startsWith(`${of}.`))
      .sort();
  const backing = async (file: string) => (await world.diskInfo(file))['backing-filename'];
  const rowOf = async (table: string, name: string) => {
    const reply = await world.server.call('GET', `/tables/${table}/rows/name=${name}`);
    return reply.status === 404 ? undefined : reply.json[table][0];
  };
  const machines = async () => (await world.lab.virsh('list', '--all', '--name')).split('\n').filter(Boolean).sort();
  const lastDisk = async (node: string) => (await askGuest(world.lab, node)).disks.at(-1);

  it('become masters: whole copies of their disks, with a row of what they are', async () => {
    await power('c1', 'on');
    await askGuest(world.lab, 'c1', 'GOLD');
    expect(await refusal('c1', { tomaster: 'gold' })).toBe(
      'c1: it is on; switch it off first, or use force to copy its disks while it runs.',
    );
    await power('c1', 'off');
    expect(await clone('c1', { tomaster: 'gold' })).toEqual({
      c1: {
        vmclone: expect.stringMatching(
          /^Cloning of c1\.vda\.qcow2, c1\.vdb\.qcow2 complete \(clone uses \d+ MB for a disk size of 5 MB\)$/,
        ),
      },
    });
    expect(files('gold')).toEqual(['gold.vda.qcow2', 'gold.vdb.qcow2']);
    expect(await Promise.all(files('gold').map(backing))).toEqual([undefined, undefined]);
    expect(await rowOf('vmmaster', 'gold')).toEqual({
      name: 'gold',
      os: 'debian12',
      arch: 'x86_64',
      nics: 'br0',
      storage: `dir://${images}`,
      storagemodel: 'virtio',
      vintage: expect.stringMatching(/^20\d\d-/),
      originator: 'root',
      virttype: 'kvm',
    });
    expect((await rowOf('kvm_masterdata', 'gold')).xml).toContain('<name>c1</name>');
  });

  it('are made from masters and hold what differs, unless they are detached', async () => {
    expect(await clone('c2,c3', { frommaster: 'gold' })).toMatchObject({
      c2: { vmclone: expect.stringMatching(/^Cloning of gold\.vda\.qcow2, gold\.vdb\.qcow2 complete/) },
      c3: { vmclone: expect.stringMatching(/complete/) },
    });
    await clone('c4', { frommaster: 'gold', detach: 'yes' });
    expect(await Promise.all([...files('c2'), ...files('c4')].map(backing))).toEqual([
      join(images, 'gold.vda.qcow2'),
      join(images, 'gold.vdb.qcow2'),
      undefined,
      undefined,
    ]);
    expect(await world.lab.virsh('dumpxml', 'c2')).toContain("<memory unit='KiB'>32768</memory>");
    expect(await world.server.ok('GET', '/nodes/c2,c4/attrs/vmmaster')).toEqual({
      c2: { vmmaster: 'gold' },
      c4: { vmmaster: 'gold' },
    });
    await power('c2,c4', 'on');
    await askGuest(world.lab, 'c2', 'MINE');
    await expect.poll(() => askGuest(world.lab, 'c4'), { timeout: 60_000 }).toMatchObject({ cpus: '2', mem: '32M' });
    await expect.poll(() => lastDisk('c2'), { timeout: 60_000 }).toBe('4d494e45:4M');
    await expect.poll(() => lastDisk('c4'), { timeout: 60_000 }).toBe('474f4c44:4M');
  });

  it('become masters as they run, by force, whole and as of one moment', async () => {
    await clone('c2', { tomaster: 'silver', force: 'yes' });
    expect(await world.lab.virsh('domstate', 'c2')).toBe('running');
    expect(await Promise.all(files('silver').map(backing))).toEqual([undefined, undefined]);
    await clone('c5', { frommaster: 'silver' });
    await power('c5', 'on');
    await expect.poll(() => lastDisk('c5'), { timeout: 60_000 }).toBe('4d494e45:4M');
    await world.server.ok('DELETE', '/nodes/c5/vm', { force: 'yes', purge: 'yes' });
    expect(files('silver').length).toBe(2);
  });

  it('leave nothing behind when they fail', async () => {
    writeFileSync(join(images, 'c5.vdb.qcow2'), 'precious');
    expect(await refusal('c5', { frommaster: 'gold' })).toBe(
      `c5: there is a disk ${join(images, 'c5.vdb.qcow2')} on localhost already; with force it is replaced.`,
    );
    expect([files('c5'), await machines()]).toEqual([['c5.vdb.qcow2'], ['c1', 'c2', 'c3', 'c4']]);
    await clone('c5', { frommaster: 'gold', force: 'yes' });
    expect(await world.removedOf('c5')).toEqual([`removed the disk ${join(images, 'c5.vdb.qcow2')} on localhost`]);
    await world.server.ok('DELETE', '/nodes/c5/vm', { purge: 'yes' });
    writeFileSync(join(images, 'lead.vdb.qcow2'), 'precious');
    expect(await refusal('c1', { tomaster: 'lead' })).toMatch(
      /^c1: there is a disk \S+lead\.vdb\.qcow2 on localhost already/,
    );
    expect([files('lead'), await rowOf('vmmaster', 'lead')]).toEqual([['lead.vdb.qcow2'], undefined]);
  });

  it.each([
    ['off', 'c1', { tomaster: 'tin' }],
    ['on', 'c1', { tomaster: 'tin', force: 'yes' }],
    ['off', 'c5', { frommaster: 'many', detach: 'yes' }],
  ] as const)('leave nothing behind when libvirt dies meanwhile: %s %s %o', async (state, node, body) => {
    if (files('c1').length < 10) {
      await world.server.ok('PUT', '/nodes/c1/vm', { adddisk: Array.from({ length: 8 }, () => '2M').join(',') });
      await clone('c1', { tomaster: 'many' });
    }
    if (node === 'c1') await power('c1', state);
    const made = node === 'c1' ? 'tin' : 'c5';
    const reply = await world.killDuring(
      () => existsSync(join(images, `${made}.vdb.qcow2`)),
      world.server.call('POST', `/nodes/${node}/vmclone`, { body }),
    );
    expect([reply.status, reply.json.error]).toEqual([
      403,
      [expect.stringMatching(/^c\d: libvirt on localhost [^:]*\.$/)],
    ]);
    expect([files(made), await rowOf('vmmaster', 'tin'), (await machines()).includes('c5')]).toEqual([
      [],
      undefined,
      false,
    ]);
    if (node === 'c1') expect(await world.lab.virsh('domstate', 'c1')).toBe(state === 'on' ? 'running' : 'shut off');
  });

  it('become one master of a name, though two are asked for at once', async () => {
    const first = world.server.call('POST', '/nodes/c1/vmclone', { body: { tomaster: 'zinc', force: 'yes' } });
    let ended: unknown;
    void first.then(({ json }) => (ended = json));
    await expect
      .poll(() => files('zinc').includes('zinc.vdb.qcow2') || ended, { timeout: 60_000, interval: 5 })
      .toBe(true);
    expect(await refusal('c4', { tomaster: 'zinc', force: 'yes' })).toBe(
      `c4: another request is at work on the disk ${join(images, 'zinc')}. Repeat the command when that one is over.`,
    );
    expect((await first).status).toBe(201);
    expect(files('zinc').map((name) => name.slice('zinc'.length))).toEqual(
      files('c1').map((name) => name.slice('c1'.length)),
    );
  });

  it('are made from masters of the same account, or from those that a rule opens', async () => {
    const { server } = world;
    const token = await addUser(server, 'op');
    const cloneAs = (body: object) => server.call('POST', '/nodes/c5/vmclone', { token, body });
    const rule = (priority: string, given: object) =>
      server.ok('PUT', `/policy/${priority}`, { name: 'op', rule: 'allow', commands: 'clonevm', ...given });
    const remove = () => server.ok('DELETE', '/nodes/c5/vm', { purge: 'yes', force: 'yes' });
    const refusedBecause = (name: string): string =>
      `User "op" may not use the master "${name}": this account has not made it, so this needs a policy rule for clonevm without a noderange, or one whose parameters name it, such as "-b ${name}".`;
    await rule('2', { noderange: 'c4-c5' });
    await rule('3', { noderange: 'c5', parameters: '-b \\w+' });
    // Whether it exists makes no difference.
    for (const frommaster of ['gold', 'brass']) {
      const { status, json } = await cloneAs({ frommaster });
      expect([status, json.error]).toEqual([403, [refusedBecause(frommaster)]]);
    }
    expect(files('c5')).toEqual([]);
    await rule('3', { noderange: 'c5', parameters: '-b gold( |$)' });
    expect((await cloneAs({ frommaster: 'gold' })).status).toBe(201);
    expect((await cloneAs({ frommaster: 'silver' })).json.error).toEqual([refusedBecause('silver')]);
    expect((await cloneAs({ tomaster: 'gold' })).json.error).toEqual([taken('gold')]);
    expect((await cloneAs({ tomaster: 'mine' })).status).toBe(201);
    expect(await rowOf('vmmaster', 'mine')).toMatchObject({ name: 'mine', originator: 'op' });
    await remove();
    await server.ok('DELETE', '/policy/3');
    expect((await cloneAs({ frommaster: 'mine' })).status).toBe(201);
    await remove();
    expect((await cloneAs({ frommaster: 'gold' })).json.error).toEqual([refusedBecause('gold')]);
    // Force reaches no disk of others.
    writeFileSync(join(images, 'olddb.hda.qcow2'), 'precious');
    await clone('c5', { frommaster: 'gold' });
    const asMaster = () => cloneAs({ tomaster: 'olddb', force: 'yes' });
    expect((await asMaster()).json.error).toEqual([
      `c5: there is a disk ${join(images, 'olddb.hda.qcow2')} on localhost already, which belongs to none of your nodes: give the master another name. To replace it, this account needs a policy rule for clonevm without a noderange.`,
    ]);
    expect(readFileSync(join(images, 'olddb.hda.qcow2'), 'utf8')).toBe('precious');
    await rule('2', { noderange: '' });
    expect((await asMaster()).status).toBe(201);
    await remove();
    expect((await cloneAs({ frommaster: 'gold' })).status).toBe(201);
    await remove();
    await server.ok('DELETE', '/policy/2');
  });

  it('lead to no other file by what the guest has written into a raw disk', async () => {
    const { server } = world;
    const raw = join(images, 'c6.hda.raw');
    const machine = { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmstorage: `dir://${images}` };
    await server.ok('PUT', '/nodes', { c6: { ...machine, vmstorageformat: 'raw' } });
    await server.ok('POST', '/nodes/c6/vm', { disksize: '4M' });
    await clone('c6', { tomaster: 'plain' });
    execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', '-F', 'qcow2', '-b', join(images, 'c1.vda.qcow2'), raw]);
    const complaint = `c6: its disk hda, ${raw}, is defined as raw, but the guest has written a header of qcow2 into it`;
    expect(await refusal('c6', { tomaster: 'loot' })).toContain(complaint);
    expect((await world.complaints('PUT', '/nodes/c6/vm', { resizedisk: 'hda=8M' }))[0]).toContain(complaint);
    expect([files('loot'), await rowOf('vmmaster', 'loot')]).toEqual([[], undefined]);
    await server.ok('DELETE', '/nodes/c6/vm', { purge: 'yes' });
  });

  it('are made of the disks of their master alone, not of files that are called alike', async () => {
    await power('c1', 'off');
    writeFileSync(join(images, 'copper.sda.qcow2'), 'of somebody else');
    expect(await refusal('c1', { tomaster: 'copper' })).toBe(
      `c1: there is a disk ${join(images, 'copper.sda.qcow2')} on localhost already; give the master another name, or use force, which replaces disks of the same name that nobody uses.`,
    );
    execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', join(images, 'gold.sda.qcow2'), '1M']);
    expect(await clone('c5', { frommaster: 'gold' })).toMatchObject({
      c5: { vmclone: expect.stringMatching(/^Cloning of gold\.vda\.qcow2, gold\.vdb\.qcow2 complete/) },
    });
    await world.server.ok('DELETE', '/nodes/c5/vm', { purge: 'yes' });
  });

  it('do not become masters under a name that somebody else has taken meanwhile', async () => {
    const { server } = world;
    await power('c1', 'off');
    const reply = server.call('POST', '/nodes/c1/vmclone', { body: { tomaster: 'race' } });
    await expect.poll(() => files('race').length, { timeout: 60_000, interval: 5 }).toBeGreaterThan(0);
    await server.ok('PUT', '/tables/vmmaster/rows/name=race', { storage: 'dir:///elsewhere', originator: 'op' });
    const { status, json } = await reply;
    expect([status, json.error]).toEqual([
      403,
      [
        `c1: There is a master race by now, which stays as it is; the disks that were made are in dir://${images}: delete them.`,
      ],
    ]);
    expect(await rowOf('vmmaster', 'race')).toEqual({ name: 'race', storage: 'dir:///elsewhere', originator: 'op' });
  });

  it('say what is wrong', async () => {
    for (const tomaster of ['gold', 'vms', 'c2']) expect(await refusal('c1', { tomaster })).toBe(taken(tomaster));
    expect(await refusal('c1,c2', { tomaster: 'x' })).toBe('a master is made of one node, and 2 were given; name one.');
    expect(await refusal('c5', { frommaster: 'brass' })).toBe('There is no master "brass" in table vmmaster.');
    for (const tomaster of ['../x', 'a.b', '-x', '<x/>'])
      expect(await refusal('c1', { tomaster })).toBe(
        `"${tomaster}" is not a name for a master: up to 63 letters, digits, _ and -, beginning with a letter or digit.`,
      );
    expect(await refusal('c3', { frommaster: 'gold' })).toBe(
      'c3: there is a virtual machine c3 on localhost already; DELETE /nodes/c3/vm removes it.',
    );
    expect(await refusal('metal', { frommaster: 'gold' })).toBe(
      'metal: clonevm is not possible: mgt "ipmi" has no virtual machine.',
    );
    await world.server.ok('PUT', '/tables/vmmaster/rows/name=lost', {
      storage: 'dir:///nowhere/at/all',
      virttype: 'kvm',
    });
    expect(await refusal('c5', { frommaster: 'lost' })).toMatch(/^c5: libvirt on localhost says: .*nowhere/);
    expect(await refusal('c1', { tomaster: 'x', detach: 'yes' })).toBe(
      'Give "detach" only with "frommaster": the disks of a master are always full copies.',
    );
    const nothing = await world.server.call('POST', '/nodes/c1/vmclone', { body: {} });
    expect([nothing.status, nothing.json.errorcode]).toEqual([400, 3]);
  });
});
