import { execFileSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { guestXml } from '../lab/libvirt/guest.ts';
import { startVmWorld, type VmWorld } from './world.ts';

/** Ways to have a disk of the node `d1` that its path does not show. */
describe('a disk that somebody uses in another way', { timeout: 120_000 }, () => {
  let world: VmWorld;
  let disk: string;
  const at = (...names: string[]) => join(world.lab.directory, ...names);
  beforeAll(async () => {
    world = await startVmWorld('127.153');
    disk = join(world.lab.images, 'd1.vda.qcow2');
    const machine = { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmstoragemodel: 'virtio' };
    const vmstorage = `dir://${world.lab.images}`;
    await world.server.ok(
      'PUT',
      '/nodes',
      Object.fromEntries(['d1', 'd2', 'd3'].map((node) => [node, { ...machine, vmstorage }])),
    );
    await world.server.ok('POST', '/nodes/d1/vm', { memorysize: '32', disksize: '4M' });
    symlinkSync(world.lab.images, at('alias'));
  });
  afterAll(() => world?.stop());

  const purge = async () =>
    (await world.complaints('DELETE', '/nodes/d1/vm', { purge: 'yes', force: 'yes' })).join(' ');
  const overlay = (base: string, file: string) => {
    mkdirSync(dirname(file), { recursive: true });
    execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', '-F', 'qcow2', '-b', base, file, '4M']);
  };
  const define = async (file: string, change = (xml: string) => xml, how = 'define') => {
    writeFileSync(at('other.xml'), change(guestXml('other', { disk: file }).replace("type='raw'", "type='qcow2'")));
    await world.lab.virsh(how, at('other.xml'));
  };
  const based = (on: string) => `d1: the disk ${disk} is in use by the disk ${on}, which is based on it, on localhost.`;

  it('is listed in the definition of another machine here, or of one that is not even defined', async () => {
    const used = `d1: the disk ${disk} is in use by the machine other on localhost.`;
    await define(disk);
    expect(await purge()).toBe(used);
    await world.lab.virsh('undefine', 'other');
    await define(disk, (xml) => xml, 'create');
    expect(await purge()).toBe(used);
    await world.lab.virsh('destroy', 'other');
  });

  it('is named by a path that is not the shortest', async () => {
    const long = disk.replace('/images/', '/images/../images//');
    await define(long);
    expect(await purge()).toBe(
      `d1: the disk ${disk} is in use by the machine other on localhost, where its path is ${long.replace('//', '/')}.`,
    );
    await world.lab.virsh('undefine', 'other');
  });

  it('is the kernel of a machine, or holds the content of another disk', async () => {
    await define(at('none.qcow2'), (xml) => xml.replace('<boot ', `<kernel>${disk}</kernel><boot `));
    expect(await purge()).toBe(`d1: the disk ${disk} is in use by the machine other on localhost.`);
    await world.lab.virsh('undefine', 'other');
    const raw = join(world.lab.images, 'd2.vda.raw');
    const holder = join(world.lab.images, 'holder.qcow2');
    await world.server.ok('PUT', '/nodes/d2', { vmstorageformat: 'raw' });
    await world.server.ok('POST', '/nodes/d2/vm', { memorysize: '32', disksize: '4M' });
    execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', '-o', `data_file=${raw},data_file_raw=on`, holder, '4M']);
    expect(await world.complaints('DELETE', '/nodes/d2/vm', { purge: 'yes' })).toEqual([
      `d2: the disk ${raw} is in use by the disk ${holder}, which is based on it, on localhost.`,
    ]);
    rmSync(holder);
    await world.server.ok('DELETE', '/nodes/d2/vm', { purge: 'yes' });
    await world.server.ok('PUT', '/nodes/d2', { vmstorageformat: '' });
  });

  it('is behind a link to its directory', async () => {
    await define(at('alias', 'd1.vda.qcow2'));
    expect(await purge()).toBe(
      `d1: the disk ${disk} is in use by the machine other on localhost, where its path is ${at('alias', 'd1.vda.qcow2')}.`,
    );
    await world.lab.virsh('undefine', 'other');
    await world.server.ok('PUT', '/nodes/d2', { vmstorage: at('alias', 'd1.vda.qcow2') });
    expect(await world.complaints('POST', '/nodes/d2/vm')).toEqual([
      `d2: the disk ${at('alias', 'd1.vda.qcow2')} is in use by the machine d1 on localhost, where its path is ${disk}.`,
    ]);
  });

  it('is the base of a disk by a way that leads up from behind a link', async () => {
    const behind = `${at('deep', 'o')}/../../images/d1.vda.qcow2`;
    mkdirSync(at('deep', 'o'), { recursive: true });
    symlinkSync(at('deep', 'o'), at('al'));
    overlay('../../images/d1.vda.qcow2', at('deep', 'o', 'top.qcow2'));
    // It would lead to itself by ever longer names.
    execFileSync(
      'qemu-img',
      'create -q -u -f qcow2 -F qcow2 -b ../o/loop.qcow2'.split(' ').concat(at('deep', 'o', 'loop.qcow2'), '4M'),
    );
    expect(existsSync(behind)).toBe(true);
    await define(at('al', 'top.qcow2'));
    const [refused] = await world.complaints('DELETE', '/nodes/d1/vm', { purge: 'yes' });
    expect(refused).toBe(
      `d1: the disk ${disk} is in use by the disk ${at('al', 'top.qcow2')}, which is based on it, on localhost, where its path is ${at('al')}/../../images/d1.vda.qcow2.`,
    );
    await world.lab.virsh('undefine', 'other');
    await world.lab.virsh('pool-destroy', (await poolOf(at('al')))!);
    rmSync(at('deep'), { recursive: true });
    rmSync(at('al'));
  });

  it('is a link to it, or the same file by another name', async () => {
    mkdirSync(at('links'));
    for (const link of [symlinkSync, linkSync]) {
      link(disk, at('links', 'theirs.img'));
      await define(at('links', 'theirs.img'));
      expect(await purge()).toBe(
        `d1: the disk ${disk} seems to be in use by the machine other on localhost, under the name ${at('links', 'theirs.img')}: both have the same size and times. If they are two files, run "touch ${disk}" there and repeat the command.`,
      );
      await world.lab.virsh('undefine', 'other');
      rmSync(at('links', 'theirs.img'));
    }
  });

  it('is behind a link that another node names as its disk, or one node twice', async () => {
    const { server } = world;
    const [linked, own] = [join(world.lab.images, 'linked.qcow2'), join(world.lab.images, 'd2.vda.qcow2')];
    const seems = (path: string) =>
      `d2: the disk ${path} seems to be in use by the machine d1 on localhost, under the name ${disk}: both have the same size and times. If they are two files, run "touch ${path}" there and repeat the command.`;
    for (const link of [linkSync, symlinkSync]) {
      link(disk, linked);
      await server.ok('PUT', '/nodes/d2', { vmstorage: linked });
      expect(await world.complaints('POST', '/nodes/d2/vm')).toEqual([seems(linked)]);
      rmSync(linked);
      // A name that muster would give to a disk of the node shows nothing.
      link(disk, own);
      await server.ok('PUT', '/nodes/d2', { vmstorage: `dir://${world.lab.images}` });
      expect(await world.complaints('POST', '/nodes/d2/vm')).toEqual([seems(own)]);
      rmSync(own);
      const free = join(world.lab.images, 'free.img');
      writeFileSync(free, Buffer.alloc(4096, 'data'));
      link(free, linked);
      await server.ok('PUT', '/nodes/d2', { vmstorage: `${free}|${linked}` });
      expect(await world.complaints('POST', '/nodes/d2/vm')).toEqual([
        `d2: its disks vda, ${free}, and vdb, ${linked}, seem to be one file: both have the same size and times. If they are two files, run "touch ${linked}" on localhost and repeat the command.`,
      ]);
      rmSync(linked);
      rmSync(free);
    }
    expect(await world.lab.virsh('list', '--all', '--name')).not.toContain('d2');
  });

  it('is a volume of a pool, also of one that is not in use', async () => {
    const pool = `<pool type='dir'><name>idle</name><target><path>${at('alias')}</path></target></pool>`;
    await world.lab.virsh('pool-destroy', (await poolOf(at('alias')))!);
    writeFileSync(at('pool.xml'), pool);
    await world.lab.virsh('pool-define', at('pool.xml'));
    await define(disk, (xml) =>
      xml
        .replace("type='file' device", "type='volume' device")
        .replace(/<source file=.*?\/>/, "<source pool='idle' volume='d1.vda.qcow2'/>"),
    );
    const [refused] = await world.complaints('DELETE', '/nodes/d1/vm', { purge: 'yes' });
    expect(refused).toMatch(
      /^d1: muster cannot find out whether a machine on localhost uses the disk \S+: the disks in \S+alias on localhost cannot be read: libvirt on localhost says: .*idle.* Repeat the command when they can be read, or use force if no machine there uses it\.$/,
    );
    await world.lab.virsh('pool-start', 'idle');
    expect(await purge()).toContain('is in use by the machine other on localhost, where its path is');
    await world.lab.virsh('undefine', 'other');
    await world.lab.virsh('pool-destroy', 'idle');
    await world.lab.virsh('pool-undefine', 'idle');
  });

  it('is the base of a disk by a JSON name, and over several directories', async () => {
    const json = JSON.stringify({ driver: 'qcow2', file: { driver: 'file', filename: disk } });
    overlay(`json:${json}`, join(world.lab.images, 'json.qcow2'));
    expect(await purge()).toBe(based(join(world.lab.images, 'json.qcow2')));
    rmSync(join(world.lab.images, 'json.qcow2'));
    overlay(disk, at('middle', 'middle.qcow2'));
    overlay(at('middle', 'middle.qcow2'), at('top', 'a top & "quoted".qcow2'));
    await define(at('top', 'a top & "quoted".qcow2'), (xml) =>
      xml.replace('a top & "quoted"', 'a top &amp; &quot;quoted&quot;'),
    );
    expect(await purge()).toBe(based(at('middle', 'middle.qcow2')));
    await world.lab.virsh('undefine', 'other');
    rmSync(at('middle', 'middle.qcow2'));
  });

  it('is not what a guest claims in a raw disk', async () => {
    overlay(disk, at('raw', 'claim.img'));
    await define(at('raw', 'claim.img'), (xml) => xml.replace("type='qcow2'", "type='raw'"));
    await world.server.ok('DELETE', '/nodes/d1/vm', { purge: 'yes' });
    expect(existsSync(disk)).toBe(false);
    await world.lab.virsh('undefine', 'other');
    rmSync(at('raw', 'claim.img'));
    await world.server.ok('POST', '/nodes/d1/vm', { memorysize: '32', disksize: '4M' });
  });

  it('is under a snapshot that is in a file of its own', async () => {
    const { server, lab } = world;
    const own = join(lab.images, 'd1.ext');
    await lab.virsh('snapshot-create-as', 'd1', 'ext', '--disk-only', '--diskspec', `vda,file=${own}`);
    expect(await world.complaints('DELETE', '/nodes/d1/vm', { force: 'yes' })).toEqual([
      'd1: its snapshot ext is in files of its own, which muster does not delete. Remove it on localhost with "virsh snapshot-delete d1 ext --metadata"; its disks stay as they are.',
    ]);
    await lab.virsh('snapshot-delete', 'd1', 'ext', '--metadata');
    await server.ok('DELETE', '/nodes/d1/vm');
    expect(await world.complaints('POST', '/nodes/d1/vm')).toEqual([based(own)]);
    rmSync(own);
    await server.ok('POST', '/nodes/d1/vm', { memorysize: '32' });
  });

  it('is asked for by two requests at once, or is a device', async () => {
    const { server, lab } = world;
    const shared = join(lab.images, 'shared.img');
    writeFileSync(shared, Buffer.alloc(1 << 20, 'data'));
    await server.ok('PUT', '/nodes/d2,d3', { vmstorage: shared });
    const replies = await Promise.all(['d2', 'd3'].map((node) => server.call('POST', `/nodes/${node}/vm`)));
    expect(replies.map(({ status }) => String(status)).sort()).toEqual(['201', '403']);
    expect(replies.find(({ status }) => status === 403)!.json.error[0]).toMatch(
      /^d\d: (another request is at work on|the disk \S+ is in use by the machine)/,
    );
    await server.call('DELETE', '/nodes/d2,d3/vm');
    // By two names.
    await server.ok('PUT', '/nodes/d3', { vmstorage: at('alias', 'shared.img') });
    for (let round = 0; round < 3; round++) {
      const both = await Promise.all(['d2', 'd3'].map((node) => server.call('POST', `/nodes/${node}/vm`)));
      expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 403]);
      await server.call('DELETE', '/nodes/d2,d3/vm');
    }
    for (const twice of [shared, at('alias', 'shared.img')]) {
      await server.ok('PUT', '/nodes/d3', { vmstorage: `${shared}|${twice}` });
      expect(await world.complaints('POST', '/nodes/d3/vm')).toEqual([
        `d3: its disks vda, ${shared}, and vdb, ${twice}, would be the same. Its attribute vmstorage must name every disk once.`,
      ]);
    }
    await server.ok('PUT', '/nodes/d2,d3', { vmstorage: 'phy:/dev/sdq' });
    await server.ok('POST', '/nodes/d2/vm');
    expect(await world.complaints('POST', '/nodes/d3/vm')).toEqual([
      'd3: the disk /dev/sdq is in use by the machine d2 on localhost.',
    ]);
    expect(readFileSync(shared).subarray(0, 4).toString()).toBe('data');
  });

  const poolOf = async (directory: string): Promise<string | undefined> => {
    for (const name of (await world.lab.virsh('pool-list', '--name')).split('\n'))
      if (name.trim() && (await world.lab.virsh('pool-dumpxml', name.trim())).includes(`<path>${directory}<`))
        return name.trim();
    return undefined;
  };
});
