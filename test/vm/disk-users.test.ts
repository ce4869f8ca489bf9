import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LibvirtLab } from '../lab/libvirt.ts';
import { guestXml } from '../lab/libvirt/guest.ts';
import { startTwoHypervisors } from './world.ts';

/** `localhost` and `far` share the directory of images; both have another one of their own under one path. */
describe('disks that somebody uses', { timeout: 180_000 }, () => {
  let world: Awaited<ReturnType<typeof startTwoHypervisors>>;
  let images: string;
  const ownPath = '/var/lib/libvirt/images';
  const ownDirectory = (lab: LibvirtLab) => join(lab.directory, 'lib', 'images');
  beforeAll(async () => {
    world = await startTwoHypervisors('127.58');
    ({ images } = world.lab);
    for (const lab of [world.lab, world.far]) mkdirSync(ownDirectory(lab), { recursive: true });
    const machine = { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmstoragemodel: 'virtio' };
    await world.server.ok('PUT', '/nodes', {
      ...Object.fromEntries(['u1', 'u2', 'u3'].map((node) => [node, { ...machine, vmstorage: `dir://${images}` }])),
      own: { ...machine, vmstorage: `dir://${ownPath}` },
      // Nobody knows of `far` otherwise.
      there: { ...machine, vmhost: 'far', vmstorage: `dir://${images}` },
    });
    await world.server.ok('POST', '/nodes/u1,own/vm', { memorysize: '32', disksize: '4M' });
  });
  afterAll(() => world?.stop());

  const refusal = async (method: string, path: string, body: object) => (await world.complaints(method, path, body))[0];
  const remove = (node: string, more: object = {}) =>
    refusal('DELETE', `/nodes/${node}/vm`, { purge: 'yes', force: 'yes', ...more });
  const disk = (name: string) => join(images, name);
  const overlay = (base: string, file: string) => {
    mkdirSync(join(file, '..'), { recursive: true });
    execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', '-F', 'qcow2', '-b', base, file]);
  };
  const defineOn = async (lab: LibvirtLab, name: string, file: string) => {
    const xml = join(lab.directory, `${name}.xml`);
    writeFileSync(xml, guestXml(name, { disk: file }).replace("type='raw'", "type='qcow2'"));
    await lab.virsh('define', xml);
  };

  it('belong to a master: no machine gets its name, and none its disks', async () => {
    const { server } = world;
    await server.ok('POST', '/nodes/u1/vmclone', { tomaster: 'silver' });
    await server.ok('POST', '/nodes/u2/vmclone', { frommaster: 'silver' });
    const before = readFileSync(disk('silver.vda.qcow2'));
    await server.ok('PUT', '/nodes', {
      silver: { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmstorage: `dir://${images}` },
    });
    const taken =
      'silver: there is a master silver, and its disks have the names that the disks of this node would get. Give the node another name.';
    expect(await refusal('POST', '/nodes/silver/vm', { disksize: '4M', force: 'yes' })).toBe(taken);
    expect(await refusal('POST', '/nodes/silver/vmclone', { frommaster: 'silver' })).toBe(taken);
    await defineOn(world.lab, 'silver', disk('silver.vda.qcow2'));
    const kept = `the disk ${disk('silver.vda.qcow2')} belongs to the master silver, and machines may be based on it.`;
    expect(await remove('silver')).toBe(`silver: ${kept}`);
    await world.lab.virsh('undefine', 'silver');
    await server.ok('PUT', '/nodes/u3', { vmstorage: disk('silver.vda.qcow2') });
    expect(await refusal('POST', '/nodes/u3/vm', {})).toBe(`u3: ${kept}`);
    await server.ok('PUT', '/nodes/u3', { vmstorage: `dir://${images}` });
    expect(readFileSync(disk('silver.vda.qcow2'))).toEqual(before);
  });

  it('are the base of a disk, whether its machine runs or not', async () => {
    const { server } = world;
    const based = `the disk ${disk('silver.vda.qcow2')} is in use by the disk ${disk('u2.vda.qcow2')}, which is based on it, on localhost.`;
    await server.ok('DELETE', '/tables/vmmaster/rows/name=silver');
    await server.ok('PUT', '/nodes/silver', { vmstoragemodel: 'virtio' });
    expect(await refusal('POST', '/nodes/silver/vm', { disksize: '4M', force: 'yes' })).toBe(`silver: ${based}`);
    await server.ok('PUT', '/nodes/u3', { vmstorage: disk('silver.vda.qcow2') });
    expect(await refusal('POST', '/nodes/u3/vm', {})).toBe(`u3: ${based}`);
  });

  it('are the base of a machine by virsh whose disk no pool has', async () => {
    const file = join(world.lab.directory, 'elsewhere', 'theirs.qcow2');
    overlay(disk('u1.vda.qcow2'), file);
    await defineOn(world.lab, 'theirs', file);
    const based = `u1: the disk ${disk('u1.vda.qcow2')} is in use by the disk ${file}, which is based on it, on localhost.`;
    expect(await remove('u1')).toBe(based);
    expect(await refusal('PUT', '/nodes/u1/vm', { purgedisk: 'vda' })).toBe(based);
    await world.lab.virsh('undefine', 'theirs');
    execFileSync('rm', [file]);
  });

  it('are in use on another hypervisor that has the same directory', async () => {
    await defineOn(world.far, 'neighbour', disk('u1.vda.qcow2'));
    expect(await remove('u1')).toBe(`u1: the disk ${disk('u1.vda.qcow2')} is in use by the machine neighbour on far.`);
    await world.far.virsh('undefine', 'neighbour');
    overlay(disk('u1.vda.qcow2'), disk('by-hand.qcow2'));
    expect(await remove('u1')).toContain(`is in use by the disk ${disk('by-hand.qcow2')}, which is based on it`);
    execFileSync('rm', [disk('by-hand.qcow2')]);
    expect(existsSync(disk('u1.vda.qcow2'))).toBe(true);
  });

  it('are others where the same path is another place', async () => {
    execFileSync('cp', [
      join(ownDirectory(world.lab), 'own.vda.qcow2'),
      join(ownDirectory(world.far), 'own.vda.qcow2'),
    ]);
    await defineOn(world.far, 'own', join(ownPath, 'own.vda.qcow2'));
    await world.server.ok('DELETE', '/nodes/own/vm', { purge: 'yes' });
    expect([world.lab, world.far].map((lab) => existsSync(join(ownDirectory(lab), 'own.vda.qcow2')))).toEqual([
      false,
      true,
    ]);
  });

  it('are not made into a second machine of the same node', async () => {
    const { server } = world;
    await server.ok('PUT', '/nodes/u1', { vmhost: 'far' });
    expect(await world.complaints('POST', '/nodes/u1/vm')).toEqual([
      'u1: its virtual machine is on localhost, by its UUID under the name u1. To move it, set vmhost to localhost and use POST /nodes/u1/vmmigrate {"target":"far"}. To make another one, remove it there first.',
    ]);
    expect((await world.far.virsh('list', '--all', '--name')).split('\n')).not.toContain('u1');
    await server.ok('PUT', '/nodes/u1', { vmhost: 'localhost' });
    expect(await server.ok('POST', '/nodes/u1/vmmigrate', { target: 'far' })).toEqual({
      u1: { vmmigrate: 'migrated to far' },
    });
  });

  it('consist of files that the other hypervisor does not have, so their machine stays', async () => {
    const { server } = world;
    const base = join(ownPath, 'base.qcow2');
    const files = [world.lab, world.far].map((lab) => join(ownDirectory(lab), 'base.qcow2'));
    for (const file of files) execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', file, '4M']);
    const based = [
      `m1: its disk vda, ${disk('m1.vda.qcow2')}, is based on ${base}, and far does not have the same file there. Keep ${base} in a directory that localhost and far share, or give the machine a disk that is based on nothing.`,
    ];
    const move = (node: string) => world.complaints('POST', `/nodes/${node}/vmmigrate`, { target: 'far' });
    execFileSync('qemu-img', [
      'create',
      '-q',
      '-u',
      '-f',
      'qcow2',
      '-F',
      'qcow2',
      '-b',
      base,
      disk('m1.vda.qcow2'),
      '4M',
    ]);
    symlinkSync(join(ownPath, 'linked.qcow2'), disk('m2.vda.qcow2'));
    for (const lab of [world.lab, world.far])
      execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', join(ownDirectory(lab), 'linked.qcow2'), '4M']);
    const machine = { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmstoragemodel: 'virtio' };
    const vmstorage = `dir://${images}`;
    await server.ok('PUT', '/nodes', { m1: { ...machine, vmstorage }, m2: { ...machine, vmstorage } });
    await server.ok('POST', '/nodes/m1,m2/vm', { memorysize: '32' });
    expect(await move('m1')).toEqual(based);
    await server.ok('PUT', '/nodes/m1/power', { action: 'on' });
    expect(await move('m1')).toEqual(based);
    await server.ok('PUT', '/nodes/m1/power', { action: 'off' });
    rmSync(files[1]!);
    expect(await move('m1')).toEqual(based);
    expect(await move('m2')).toEqual([
      `m2: its disk vda, ${disk('m2.vda.qcow2')}, is not the same file on far as on localhost, though they share its directory. If it is a link, switch the machine off and replace the link with the file itself.`,
    ]);
    expect(await world.far.virsh('list', '--all', '--name')).not.toMatch(/m[12]/);
    await server.ok('DELETE', '/nodes/m1,m2/vm', { purge: 'yes' });
  });

  it('are those of a machine that a killed muster left on both hypervisors, until it moves again', async () => {
    const { server, lab, far } = world;
    const machine = { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmstoragemodel: 'virtio' };
    await server.ok('PUT', '/nodes', { m3: { ...machine, vmstorage: `dir://${images}` } });
    await server.ok('POST', '/nodes/m3/vm', { memorysize: '32', disksize: '4M' });
    writeFileSync(join(lab.directory, 'm3.xml'), await lab.virsh('dumpxml', 'm3'));
    await far.virsh('define', join(lab.directory, 'm3.xml'));
    expect(await server.ok('POST', '/nodes/m3/vmmigrate', { target: 'far' })).toEqual({
      m3: { vmmigrate: 'migrated to far' },
    });
    const names = await Promise.all([lab, far].map((each) => each.virsh('list', '--all', '--name')));
    expect(names.map((list) => list.split('\n').includes('m3'))).toEqual([false, true]);
    await server.ok('DELETE', '/nodes/m3/vm', { purge: 'yes' });
  });

  it('may be in use on a hypervisor that does not answer, which takes force', async () => {
    let { server } = world;
    await server.ok('PUT', '/nodes/u3', { vmstorage: `dir://${images}` });
    await server.ok('POST', '/nodes/u3/vm', { disksize: '4M' });
    await world.far.stop();
    expect(await world.complaints('DELETE', '/nodes/u2/vm', { purge: 'yes' })).toEqual([
      expect.stringMatching(
        /^u2: muster cannot find out whether a machine on far uses the disk \S+u2\.vda\.qcow2: .* Repeat the command when far answers, or use force if no machine there uses it\.$/,
      ),
    ]);
    await world.killServer();
    expect((await world.complaints('DELETE', '/nodes/u2/vm', { purge: 'yes' }))[0]).toMatch(
      /^u2: muster cannot find out whether a machine on far uses the disk/,
    );
    ({ server } = world);
    await server.ok('DELETE', '/nodes/u2/vm', { purge: 'yes', force: 'yes' });
    expect(existsSync(disk('u2.vda.qcow2'))).toBe(false);
    await world.lab.virsh('undefine', 'u3');
    expect((await world.complaints('DELETE', '/nodes/u3/vm', { purge: 'yes', force: 'yes' }))[0]).toMatch(
      /^u3: muster cannot find out whether a machine on far uses the disk \S+: .* Repeat the command when far answers\.$/,
    );
    await server.ok('PUT', '/nodes/u1', { vmhost: 'localhost' });
    expect(await world.complaints('POST', '/nodes/u1/vm')).toEqual([
      expect.stringMatching(
        /^u1: its virtual machine was last seen on far, which does not answer: .* It may run there\. Repeat the command when far answers, or use force if you are sure that it does not run\.$/,
      ),
    ]);
    await server.ok('POST', '/nodes/u1/vm', { force: 'yes' });
    expect(await world.lab.virsh('domblklist', 'u1')).toContain(disk('u1.vda.qcow2'));
  });
});
