import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askGuest } from '../lab/libvirt/telling.ts';
import { startVmWorld, type VmWorld } from './world.ts';

// QEMU does all processors of a PC in one thread there, and libvirt then refuses another one for a machine that runs.
const canAddCpu = process.arch !== 'arm64';
if (!canAddCpu) console.warn('A processor more for a virtual machine that runs is left out: libvirt cannot on arm64.');
/** Those of m1 while it runs. */
const cpus = canAddCpu ? '2' : '1';

describe('virtual machines that are changed', { timeout: 120_000 }, () => {
  let world: VmWorld;
  let images: string;
  let untouched: string;
  let unheeded: Promise<string | undefined>;
  beforeAll(async () => {
    world = await startVmWorld('127.50', 'powerTimeout = 15');
    ({ images } = world.lab);
    const machine = { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmstorage: `dir://${images}` };
    await world.server.ok('PUT', '/nodes', {
      m1: { ...machine, vmstoragemodel: 'virtio', vmcpus: '1', vmmemory: '64' },
      m2: machine,
      m4: { ...machine, vmstoragemodel: 'virtio', vmstorage: join(images, 'm4.vdb.qcow2') },
      m5: machine,
      m3: { ...machine, vmstoragemodel: 'virtio', vmstorage: join(images, 'theirs.qcow2') },
    });
    await world.placeGuest('m1');
    await world.server.ok('POST', '/nodes/m1/vm');
    await world.server.ok('POST', '/nodes/m2/vm', { memorysize: '16', disksize: '8M' });
  });
  afterAll(() => world?.stop());

  const change = (node: string, body: object) => world.server.ok('PUT', `/nodes/${node}/vm`, body);
  const refusal = async (node: string, body: object) => {
    const [sentence] = await world.complaints('PUT', `/nodes/${node}/vm`, body);
    return sentence;
  };
  const definition = (node: string, ...words: string[]) => world.lab.virsh('dumpxml', ...words, node);
  const sources = (xml: string) =>
    (xml.match(/(?<=source file=')[^']+/g) ?? []).map((path) => path.replace(`${images}/`, ''));
  const disks = () =>
    readdirSync(images)
      .filter((name) => name !== 'boot.img')
      .sort();
  const sizeOf = async (disk: string) => Number((await world.diskInfo(disk))['virtual-size']) / (1 << 20);
  const attributes = async (node: string) => (await world.server.ok('GET', `/nodes/${node}`))[node];
  const seen = () => expect.poll(() => askGuest(world.lab, 'm1'), { timeout: 60_000 });

  it('while they are off have all of it, and their attributes follow where they are set', async () => {
    await change('m1', { cpucount: '3', memorysize: '96', adddisk: '8M,4M', resizedisk: 'vda=2M' });
    const xml = await definition('m1');
    expect(xml).toContain("<memory unit='KiB'>98304</memory>");
    expect(xml).toContain("<currentMemory unit='KiB'>98304</currentMemory>");
    expect(xml).toContain("<vcpu placement='static'>3</vcpu>");
    expect(sources(xml)).toEqual(['m1.vda.qcow2', 'm1.vdb.qcow2', 'm1.vdc.qcow2']);
    expect(await Promise.all(sources(xml).map(sizeOf))).toEqual([2, 8, 4]);
    expect(await attributes('m1')).toMatchObject({ vmcpus: '3', vmmemory: '96', vmstorage: `dir://${images}` });
    await change('m1', { cpucount: 1, purgedisk: 'vdb' });
    expect(await definition('m1')).toContain("<vcpu placement='static' current='1'>3</vcpu>");
    expect(disks()).toEqual(['m1.vda.qcow2', 'm1.vdc.qcow2', 'm2.hda.qcow2']);
    await change('m2', { memorysize: '32' });
    expect(await attributes('m2')).not.toHaveProperty('vmmemory');
  });

  it('while they run show it to their guests at once', async () => {
    await world.server.ok('PUT', '/nodes/m1,m2/power', { action: 'on' });
    untouched = await definition('m2');
    unheeded = refusal('m2', { memorysize: '16' });
    const first = expect.stringMatching(/:2M$/);
    await seen().toMatchObject({ mem: '96M', cpus: '1', disks: [first, '00000000:4M'] });
    await change('m1', { memorysize: '64', cpucount: cpus, adddisk: '16M', resizedisk: 'vdc=6M' });
    await seen().toEqual({
      mem: '64M',
      cpus,
      disks: [first, '00000000:16M', '00000000:6M'],
    });
    for (const xml of [await definition('m1'), await definition('m1', '--inactive')]) {
      expect(xml).toContain("<currentMemory unit='KiB'>65536</currentMemory>");
      expect(xml).toContain(`current='${cpus}'>3</vcpu>`);
      expect(sources(xml).sort()).toEqual(['m1.vda.qcow2', 'm1.vdb.qcow2', 'm1.vdc.qcow2']);
    }
    expect(await sizeOf('m1.vdc.qcow2')).toBe(6);
    expect(await attributes('m1')).toMatchObject({ vmcpus: cpus, vmmemory: '64' });
    await askGuest(world.lab, 'm1', 'MARK');
    await change('m1', { memorysize: '80', purgedisk: 'vdb' });
    await seen().toMatchObject({ mem: '80M', disks: [first, '4d41524b:6M'] });
    expect(sources(await definition('m1', '--inactive'))).toEqual(['m1.vda.qcow2', 'm1.vdc.qcow2']);
    expect(existsSync(join(images, 'm1.vdb.qcow2'))).toBe(false);
  });

  it('say what cannot be done while they run, and stay as they were', async () => {
    // The guest of m2 knows of no balloon.
    expect(await unheeded).toBe(
      'm2: its guest has not changed its memory to 16 MB: it has 32 MB. If it has no driver for the balloon, switch it off first.',
    );
    expect(await definition('m2')).toBe(untouched);
    const before = [await definition('m1'), await definition('m1', '--inactive'), disks()];
    expect(await refusal('m1', { memorysize: '128', adddisk: '4M' })).toBe(
      'm1: it is on, and was started with 96 MB: for more memory switch it off first.',
    );
    expect(await refusal('m1', { cpucount: '4', adddisk: '4M' })).toBe(
      'm1: it is on, and was started with at most 3 processors: for more switch it off first.',
    );
    expect(await refusal('m2', { adddisk: '4M' })).toBe(
      'm2: it is on, and disks of the model ide can be added or removed only while it is off: switch it off first.',
    );
    expect([await definition('m1'), await definition('m1', '--inactive'), disks()]).toEqual(before);
    expect(await attributes('m1')).toMatchObject({ vmcpus: cpus, vmmemory: '80' });
  });

  it.each(['on', 'off'])('are as before when libvirt dies meanwhile: %s', async (power) => {
    await world.server.ok('PUT', '/nodes/m1/power', { action: power });
    const before = [sources(await definition('m1')), sources(await definition('m1', '--inactive')), disks()];
    const body = { memorysize: '72', adddisk: Array.from({ length: 12 }, () => '1M').join(',') };
    const reply = await world.killDuring(
      () => existsSync(join(images, 'm1.vdd.qcow2')),
      world.server.call('PUT', '/nodes/m1/vm', { body }),
    );
    expect([reply.status, reply.json.error]).toEqual([403, [expect.stringMatching(/^m1: libvirt on localhost /)]]);
    expect([sources(await definition('m1')), sources(await definition('m1', '--inactive')), disks()]).toEqual(before);
    expect(await definition('m1', '--inactive')).toContain("<currentMemory unit='KiB'>81920</currentMemory>");
    expect(await attributes('m1')).toMatchObject({ vmmemory: '80' });
  });

  it('say what is wrong with a request', async () => {
    const cases = [
      [{ purgedisk: 'vdx' }, 'it has no disk "vdx"; it has vda, vdc.'],
      [{ purgedisk: '../../etc/passwd' }, 'it has no disk "../../etc/passwd"; it has vda, vdc.'],
      [{ resizedisk: 'vda=1M' }, 'its disk vda has 2 MB and cannot shrink to 1 MB.'],
      [
        { resizedisk: 'vda' },
        '"vda" is not a new size of a disk: use the name of its device and the size, as in vdb=20.',
      ],
      [
        { resizedisk: 'vda=99999999T' },
        '"99999999T" is not the size of a disk: give gigabytes, or a number with K, M, G or T.',
      ],
      [{ adddisk: '-1' }, '"-1" is not the size of a disk: give gigabytes, or a number with K, M, G or T.'],
      [{ adddisk: '<b/>' }, '"<b/>" is not the size of a disk: give gigabytes, or a number with K, M, G or T.'],
      [{ cpucount: '0' }, '"0" is not a number of processors: give 1 to 4096.'],
      [{ resizedisk: 'vda=3M', purgedisk: 'vda' }, 'its disk vda cannot be resized and removed at once.'],
      [{ detachdisk: 'vda', purgedisk: 'vda' }, 'its disk vda cannot be deleted and kept at once.'],
    ] as const;
    for (const [body, sentence] of cases) expect(await refusal('m1', body)).toBe(`m1: ${sentence}`);
    const nothing = await world.server.call('PUT', '/nodes/m1/vm', { body: {} });
    expect([nothing.status, nothing.json.error]).toEqual([
      400,
      ['Say what to change: give any of cpucount, memorysize, adddisk, purgedisk, detachdisk, resizedisk.'],
    ]);
  });

  it('keep disks that others use or have made', async () => {
    const { lab, server } = world;
    await world.makeByHand('other', { disk: join(images, 'm1.vdc.qcow2') });
    expect(await refusal('m1', { purgedisk: 'vdc' })).toBe(
      `m1: the disk ${join(images, 'm1.vdc.qcow2')} is in use by the machine other on localhost.`,
    );
    await lab.virsh('undefine', 'other');
    const theirs = join(images, 'theirs.qcow2');
    await world.placeGuest('m3');
    renameSync(join(images, 'm3.vda.qcow2'), theirs);
    await server.ok('POST', '/nodes/m3/vm', { memorysize: '16' });
    expect(await refusal('m3', { purgedisk: 'vda' })).toBe(
      `m3: its disk vda, ${theirs}, was not made for it; use force to delete it anyway.`,
    );
    const inTheWay = join(images, 'm3.vdb.qcow2');
    writeFileSync(inTheWay, 'precious');
    await server.ok('PUT', '/nodes/m3', { vmstorage: `${theirs}|dir://${images}` });
    await change('m3', { purgedisk: 'vda', adddisk: '4M', force: 'yes' });
    expect(await world.removedOf('m3')).toEqual([
      `removed the disk ${inTheWay} on localhost`,
      `removed the disk ${theirs} on localhost`,
    ]);
    await change('m3', { detachdisk: 'vdb' });
    expect([existsSync(inTheWay), sources(await definition('m3'))]).toEqual([true, []]);
    await change('m3', { adddisk: '4M', force: 'yes' });
    await change('m3', { purgedisk: 'vda' });
    expect((await world.removedOf('m3')).length).toBe(2);
    expect([existsSync(theirs), (await attributes('m3')).vmstorage]).toEqual([false, `dir://${images}`]);
  });

  it('keep a disk that only has the name of one that was left, as it is another of theirs', async () => {
    const disk = join(images, 'm4.vdb.qcow2');
    await world.placeGuest('m4');
    renameSync(join(images, 'm4.vda.qcow2'), disk);
    await world.server.ok('POST', '/nodes/m4/vm', { memorysize: '16' });
    await world.server.ok('PUT', '/nodes/m4', { vmstorage: `${disk}|dir://${images}` });
    expect(await refusal('m4', { purgedisk: 'vdb', force: 'yes' })).toBe(
      `m4: the disk ${disk} is in use by the machine m4 on localhost.`,
    );
    expect(existsSync(disk)).toBe(true);
  });

  it('that muster has not made keep disks of their name', async () => {
    const disk = join(images, 'm5.qcow2');
    await world.placeGuest('m5');
    renameSync(join(images, 'm5.vda.qcow2'), disk);
    await world.makeByHand('m5', { disk });
    expect(await refusal('m5', { purgedisk: 'vda' })).toBe(
      `m5: its disk vda, ${disk}, was not made for it; use force to delete it anyway.`,
    );
    expect(existsSync(disk)).toBe(true);
    await change('m5', { purgedisk: 'vda', force: 'yes' });
    expect([existsSync(disk), await world.removedOf('m5')]).toEqual([false, [`removed the disk ${disk} on localhost`]]);
  });

  it('whose memory is saved keep all that their guests need', async () => {
    const { lab, server } = world;
    await lab.virsh('managedsave', 'm2');
    const saved =
      'm2: its memory is saved on localhost ("virsh managedsave"): its guest will go on with it and needs everything as it was. Start it with PUT /nodes/m2/power {"action":"on"} and shut it down, or discard the memory on localhost with "virsh managedsave-remove m2".';
    for (const body of [{ purgedisk: 'hda' }, { memorysize: '64' }, { adddisk: '4M' }])
      expect(await refusal('m2', body)).toBe(saved);
    for (const purge of ['yes', 'no'])
      expect(await world.complaints('DELETE', '/nodes/m2/vm', { purge })).toEqual([saved]);
    await server.ok('PUT', '/nodes/m2/power', { action: 'on' });
    expect(await lab.virsh('domstate', 'm2', '--reason')).toContain('running');
  });
});
