import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startVmWorld, type VmWorld } from './world.ts';

describe('virtual machines that are made', { timeout: 120_000 }, () => {
  let world: VmWorld;
  let images: string;
  beforeAll(async () => {
    world = await startVmWorld('127.49');
    ({ images } = world.lab);
    const machine = { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmstorage: `dir://${images}` };
    await world.server.ok('PUT', '/nodes', {
      m1: { ...machine, vmcpus: '1', vmmemory: '64', vmnics: 'br0,br1', mac: '42:00:00:00:00:01', vmbootorder: 'hd' },
      m2: { ...machine, vmstoragemodel: 'virtio', vmstorageformat: 'raw' },
      m3: { ...machine, vmothersetting: 'machine:no-such-machine' },
      m4: { ...machine, vmstorage: 'no-such-pool' },
      metal: { groups: 'all', mgt: 'ipmi', bmc: '127.49.200.1', bmcusername: 'a', bmcpassword: 'b' },
    });
  });
  afterAll(() => world?.stop());

  const machines = async () => (await world.lab.virsh('list', '--all', '--name')).split('\n').filter(Boolean).sort();
  const disks = () => readdirSync(images).filter((name) => name !== 'boot.img');
  const definition = (node: string) => world.lab.virsh('dumpxml', node);
  const infoOf = (disk: string) =>
    JSON.parse(execFileSync('qemu-img', ['info', '-U', '--output=json', join(images, disk)], { encoding: 'utf8' }));

  it('have what attributes and request say, and their identity is kept', async () => {
    const { server, lab } = world;
    await server.ok('POST', '/nodes/m1,m2/vm', { cpucount: '2', memorysize: '32', disksize: '8M,16M' });
    expect(await machines()).toEqual(['m1', 'm2']);
    const xml = await definition('m1');
    expect(xml).toContain("<memory unit='KiB'>32768</memory>");
    expect(xml).toContain("<vcpu placement='static'>2</vcpu>");
    expect(xml.match(/(?<=<boot dev=')\w+/g)).toEqual(['hd']);
    expect(disks().sort()).toEqual(['m1.hda.qcow2', 'm1.hdb.qcow2', 'm2.vda.raw', 'm2.vdb.raw']);
    expect(infoOf('m1.hdb.qcow2')).toMatchObject({ format: 'qcow2', 'virtual-size': 16 << 20 });
    expect(infoOf('m2.vda.raw')).toMatchObject({ format: 'raw', 'virtual-size': 8 << 20 });
    const macs = xml.match(/(?<=<mac address=')[^']+/g)!;
    expect(macs).toEqual(['42:00:00:00:00:01', expect.stringMatching(/^42(:[\da-f]{2}){5}$/)]);
    const { m1 } = await server.ok('GET', '/nodes/m1/attrs/mac');
    expect(m1).toEqual({ mac: macs.join('|') });
    const { vpd } = await server.ok('GET', '/tables/vpd/nodes/m1');
    expect(vpd).toEqual([{ name: 'm1', uuid: await lab.virsh('domuuid', 'm1') }]);
    expect(await server.ok('GET', '/nodes/m1,m2/power')).toEqual({ m1: { power: 'off' }, m2: { power: 'off' } });
  });

  it('run, and are removed when they do not, or by force', async () => {
    const { server } = world;
    await server.ok('PUT', '/nodes/m2/power', { action: 'on' });
    expect(await world.complaints('DELETE', '/nodes/m2/vm', { purge: 'yes' })).toEqual([
      'm2: it is on; switch it off first, or remove it with force.',
    ]);
    await server.ok('DELETE', '/nodes/m2/vm', { purge: 'yes', force: 'yes' });
    await server.ok('DELETE', '/nodes/m1/vm');
    expect([await machines(), disks().sort()]).toEqual([[], ['m1.hda.qcow2', 'm1.hdb.qcow2']]);
  });

  it('are the same when they are made again, with the disks that are there', async () => {
    const { server, lab } = world;
    const { vpd } = await server.ok('GET', '/tables/vpd/nodes/m1');
    const [{ mac }] = (await server.ok('GET', '/tables/mac/nodes/m1')).mac;
    await server.ok('POST', '/nodes/m1/vm');
    expect(await lab.virsh('domuuid', 'm1')).toBe(vpd[0].uuid);
    expect((await definition('m1')).match(/(?<=<mac address=')[^']+/g)!.join('|')).toBe(mac);
    expect((await definition('m1')).match(/(?<=source file=')[^']+/g)).toEqual(
      ['m1.hda.qcow2', 'm1.hdb.qcow2'].map((disk) => join(images, disk)),
    );
    expect(await world.complaints('POST', '/nodes/m1/vm')).toEqual([
      'm1: there is a virtual machine m1 on localhost already; DELETE /nodes/m1/vm removes it.',
    ]);
    await server.ok('DELETE', '/nodes/m1/vm', { purge: 'yes' });
    expect(disks()).toEqual([]);
  });

  it('leave nothing behind when they cannot be made', async () => {
    const [refused] = await world.complaints('POST', '/nodes/m3/vm', { disksize: '8M,8M' });
    expect(refused).toMatch(/^m3: libvirt on localhost says: /);
    const file = join(images, 'm1.hdb.qcow2');
    writeFileSync(file, 'precious');
    expect(await world.complaints('POST', '/nodes/m1/vm', { disksize: '8M,8M' })).toEqual([
      `m1: there is a disk ${file} on localhost already; with force it is replaced.`,
    ]);
    expect([await machines(), disks()]).toEqual([[], ['m1.hdb.qcow2']]);
    expect(infoOf('m1.hdb.qcow2')).toMatchObject({ format: 'raw' });
    await world.server.ok('POST', '/nodes/m1/vm', { disksize: '8M,8M', force: 'yes' });
    expect(infoOf('m1.hdb.qcow2')).toMatchObject({ format: 'qcow2' });
    await world.server.ok('DELETE', '/nodes/m1/vm', { purge: 'yes' });
  });

  it('of others are not removed without force, and neither are disks of others', async () => {
    const theirs = join(images, 'theirs.img');
    writeFileSync(theirs, Buffer.alloc(1 << 20));
    await world.makeByHand('m2', { disk: theirs });
    expect(await world.complaints('DELETE', '/nodes/m2/vm', { purge: 'yes' })).toEqual([
      'm2: its virtual machine was not made by muster; use force to remove it anyway.',
    ]);
    await world.lab.virsh('undefine', 'm2');
    await world.server.ok('PUT', '/nodes/m2', { vmstorage: theirs });
    await world.server.ok('POST', '/nodes/m2/vm');
    expect(await world.complaints('DELETE', '/nodes/m2/vm', { purge: 'yes' })).toEqual([
      `m2: its disk ${theirs} was not made for it; use force to delete it anyway.`,
    ]);
    expect(await machines()).toEqual(['m2']);
    await world.server.ok('DELETE', '/nodes/m2/vm', { purge: 'yes', force: 'yes' });
    expect([await machines(), existsSync(theirs)]).toEqual([[], false]);
    // Named like the node, but not as muster names disks.
    const precious = join(images, 'm2.precious.qcow2');
    writeFileSync(precious, Buffer.alloc(1 << 20));
    await world.server.ok('PUT', '/nodes/m2', { vmstorage: precious, vmstorageformat: '' });
    await world.server.ok('POST', '/nodes/m2/vm');
    expect(await world.complaints('DELETE', '/nodes/m2/vm', { purge: 'yes' })).toEqual([
      `m2: its disk ${precious} was not made for it; use force to delete it anyway.`,
    ]);
    expect(existsSync(precious)).toBe(true);
    await world.server.ok('DELETE', '/nodes/m2/vm');
    rmSync(precious);
  });

  it('stay those of their nodes, whatever node has the name later', async () => {
    const { server, lab } = world;
    const machine = { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmstorage: `dir://${images}` };
    await server.ok('PUT', '/nodes', { old: machine });
    await server.ok('POST', '/nodes/old/vm', { memorysize: '32', disksize: '4M' });
    const uuid = await lab.virsh('domuuid', 'old');
    expect(await world.complaints('PUT', '/definitions/node/old/rename', { name: 'other' })).toEqual([
      'old has a virtual machine on localhost, which would keep the old name, as would its disks.',
      'Before you rename the node, remove the machine with DELETE /nodes/old/vm, which keeps the disks; afterwards name the disks in vmstorage and make the machine again.',
      'If the machine is gone already, delete what muster knows of it with DELETE /tables/vmmove/rows/node=old.',
    ]);
    const foreign = (known: string) => [
      `old: the virtual machine old on localhost has the UUID ${uuid}, but table vpd has ${known} for this node: muster may have made the machine for another node. Use force to remove it anyway.`,
    ];
    const expectKept = async (known: string) => {
      expect(await world.complaints('DELETE', '/nodes/old/vm', { purge: 'yes' })).toEqual(foreign(known));
      expect(await world.complaints('PUT', '/nodes/old/vm', { purgedisk: 'hda' })).toEqual([
        `old: its disk hda, ${join(images, 'old.hda.qcow2')}, was not made for it; use force to delete it anyway.`,
      ]);
      expect([await machines(), disks()]).toEqual([['old'], ['old.hda.qcow2']]);
    };
    await server.ok('DELETE', '/nodes/old');
    await server.ok('PUT', '/nodes', { old: machine });
    await expectKept('none');
    const another = '11111111-2222-4333-8444-555555555555';
    await server.ok('PUT', '/tables/vpd/rows/node=old', { uuid: another });
    await expectKept(another);
    await server.ok('DELETE', '/nodes/old/vm', { purge: 'yes', force: 'yes' });
    expect(await world.removedOf('old')).toEqual([`removed the virtual machine old (${uuid}) on localhost`]);
    expect([await machines(), disks()]).toEqual([[], []]);
    await server.ok('POST', '/nodes/old/vm', { memorysize: '32' });
    await server.ok('DELETE', '/nodes/old/vm');
    await server.ok('PUT', '/definitions/node/old/rename', { name: 'other' });
  });

  it('say what is wrong', async () => {
    expect(await world.complaints('POST', '/nodes/m4,metal/vm', { disksize: '1' })).toEqual([
      'm4: its attribute vmstorage names the pool no-such-pool, which does not exist on localhost.',
      'metal: mkvm is not possible: mgt "ipmi" has no virtual machine.',
    ]);
    expect(await world.complaints('POST', '/nodes/m1/vm', { memorysize: 'lots' })).toEqual([
      'm1: "lots" is not a size of memory: give megabytes, or a number with K, M, G or T, at least 4M.',
    ]);
    expect(await world.complaints('POST', '/nodes/m1/vm', { memorysize: '900T' })).toEqual([
      expect.stringMatching(/^m1: it cannot have 943718400 MB of memory: localhost has \d+ MB\.$/),
    ]);
    expect(await world.complaints('POST', '/nodes/m1/vm', { disksize: '900T' })).toEqual([
      expect.stringMatching(/^m1: a disk of 943718400 MB is larger than \/\S+ on localhost, which has \d+ MB\.$/),
    ]);
    expect(await world.complaints('DELETE', '/nodes/m1/vm')).toEqual([
      'm1: there is no virtual machine m1 on localhost.',
    ]);
  });
});
