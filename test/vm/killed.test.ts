import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Reply } from '../harness/client.ts';
import type { LibvirtLab } from '../lab/libvirt.ts';
import { askGuest } from '../lab/libvirt/telling.ts';
import { startTwoHypervisors } from './world.ts';

describe('what a muster that was killed has left', { timeout: 180_000 }, () => {
  let world: Awaited<ReturnType<typeof startTwoHypervisors>>;
  /** Of either hypervisor another directory under this path. */
  const ownPath = '/var/lib/libvirt/images';
  const ownDirectory = (lab: LibvirtLab) => join(lab.directory, 'lib', 'images');
  const files = (directory: string, of: string) =>
    readdirSync(directory)
      .filter((name) => name.startsWith(`${of}.`))
      .sort();
  beforeAll(async () => {
    world = await startTwoHypervisors('127.152', 'powerTimeout = 60');
    const machine = { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmstoragemodel: 'virtio' };
    await world.server.ok('PUT', '/nodes', {
      q1: { ...machine, vmstorage: `dir://${ownPath}` },
      q2: machine,
      q3: { ...machine, vmstorage: `dir://${world.lab.images}` },
      q4: { ...machine, vmstorage: `dir://${ownPath}` },
    });
    for (const lab of [world.lab, world.far]) mkdirSync(ownDirectory(lab), { recursive: true });
    await world.placeGuest('q1', ownDirectory(world.lab));
    await world.server.ok('POST', '/nodes/q1/vm', { memorysize: '32' });
    await world.server.ok('PUT', '/nodes/q1/vm', { adddisk: '4M' });
    await world.server.ok('PUT', '/nodes/q1/power', { action: 'on' });
    await askGuest(world.lab, 'q1', 'KEEP');
  });
  afterAll(() => world?.stop());

  /** Kills muster as soon as a request has come that far. */
  const killAt = async (isReached: () => boolean, request: Promise<Reply>): Promise<void> => {
    // Its connection ends with the server.
    const over = request.then(
      () => true,
      () => true,
    );
    while (!isReached()) {
      if (await Promise.race([over, pause(5, false)])) throw new Error('The request was over before it could be cut.');
    }
    await world.killServer();
  };
  /** As libvirt notes it itself: to ask would take too long. */
  const isPaused = (node: string) => () => {
    const status = join(world.lab.directory, 'run', 'libvirt', 'qemu', `${node}.xml`);
    return existsSync(status) && readFileSync(status, 'utf8').includes("state='paused'");
  };
  const lastDisk = (lab: LibvirtLab) =>
    expect.poll(async () => (await askGuest(lab, 'q1')).disks.at(-1), { timeout: 60_000 });

  it('of a machine and of its change is replaced when they are repeated', async () => {
    const { server, lab } = world;
    const made = () => files(lab.images, 'q3');
    const disksOf = (...devices: string[]) => devices.map((device) => `q3.${device}.qcow2`);
    const eight = Array(8).fill('4M').join(',');
    const making = { memorysize: '32', disksize: eight };
    const isMade = (device: string) => () => existsSync(join(lab.images, `q3.${device}.qcow2`));
    await killAt(isMade('vdb'), server.call('POST', '/nodes/q3/vm', { body: making }));
    await expect.poll(async () => await lab.virsh('list', '--all', '--name')).not.toContain('q3');
    expect(await world.complaints('POST', '/nodes/q3/vm')).toEqual([
      `q3: the disk ${lab.images}/q3.vda.qcow2 on localhost may be incomplete: the command that made it did not end. Repeat that command, or delete the disk on localhost. If you are sure that the disk is complete, delete ${lab.images}/q3.vda.qcow2.muster-partial there.`,
    ]);
    await world.server.ok('POST', '/nodes/q3/vm', making);
    const first = disksOf('vda', 'vdb', 'vdc', 'vdd', 'vde', 'vdf', 'vdg', 'vdh');
    expect(made()).toEqual(first);
    const change = world.server.call('PUT', '/nodes/q3/vm', { body: { adddisk: eight } });
    await killAt(isMade('vdj'), change);
    await world.server.ok('PUT', '/nodes/q3/vm', { adddisk: eight });
    expect(made()).toEqual([...first, ...disksOf('vdi', 'vdj', 'vdk', 'vdl', 'vdm', 'vdn', 'vdo', 'vdp')]);
    expect((await lab.virsh('domblklist', 'q3')).split('\n')).toHaveLength(16);
  });

  it('of a master is a machine that is resumed, and copied no more', async () => {
    const { server, lab } = world;
    await server.ok('PUT', '/nodes/q3/power', { action: 'on' });
    await killAt(
      isPaused('q3'),
      server.call('POST', '/nodes/q3/vmclone', { body: { tomaster: 'many', force: 'yes' } }),
    );
    await expect.poll(() => lab.virsh('domstate', 'q3'), { timeout: 60_000 }).toBe('running');
    await expect.poll(() => lab.virsh('dumpxml', 'q3')).not.toMatch(/<mirror|muster:work/);
    await expect
      .poll(() => world.server.output())
      .toMatch(
        /the virtual machine q3 on localhost was left by a command that did not end \(clonevm\)\. muster (ended the copies of its disks and )?resumed it\. Repeat the command\./,
      );
    await world.server.ok('PUT', '/nodes/q3/power', { action: 'off' });
  });

  it('of a removal is deleted by force', async () => {
    const { server, lab } = world;
    const disk = join(lab.images, 'q3.vdp.qcow2');
    await lab.virsh('detach-disk', 'q3', 'vdp', '--config');
    expect(await world.complaints('PUT', '/nodes/q3/vm', { purgedisk: 'vdp' })).toEqual([
      `q3: it has no disk "vdp", but there is a disk of that name, ${disk}, which an earlier change may have left. Use force to delete it.`,
    ]);
    await server.ok('PUT', '/nodes/q3/vm', { purgedisk: 'vdp', force: 'yes' });
    expect(existsSync(disk)).toBe(false);
    await lab.virsh('undefine', 'q3');
    const [refused] = await world.complaints('DELETE', '/nodes/q3/vm', { purge: 'yes' });
    expect(refused).toMatch(
      /^q3: there is no virtual machine q3 on localhost, but there are disks of its name: \S+q3\.vda\.qcow2, .* Use force to delete them\.$/,
    );
    await server.ok('DELETE', '/nodes/q3/vm', { purge: 'yes', force: 'yes' });
    expect(files(lab.images, 'q3')).toEqual([]);
  });

  it('of a snapshot is a machine that is resumed; one that somebody has paused stays so', async () => {
    const { server, lab } = world;
    await server.ok('POST', '/nodes/q2/vm', { memorysize: '32' });
    await server.ok('PUT', '/nodes/q2/power', { action: 'on' });
    for (const node of ['q1', 'q2']) await lab.virsh('suspend', node);
    // As a daemon leaves it that dies while it writes the memory.
    const status = join(lab.directory, 'run', 'libvirt', 'qemu', 'q1.xml');
    const before = readFileSync(status, 'utf8');
    const after = before.replace("state='paused' reason='user'", "state='paused' reason='save'");
    expect(after).not.toBe(before);
    writeFileSync(status, after);
    await lab.killDaemon();
    await expect.poll(() => lab.virsh('domstate', 'q1'), { timeout: 60_000 }).toBe('running');
    expect(await lab.virsh('domstate', 'q2')).toBe('paused');
    await expect
      .poll(() => server.output())
      .toContain('the virtual machine q1 on localhost was paused by a snapshot that did not end. muster resumed it.');
  });

  it('of a master is replaced by force, and the machine runs on', async () => {
    const made = () => files(ownDirectory(world.lab), 'gold');
    await killAt(
      () => made().length > 0,
      world.server.call('POST', '/nodes/q1/vmclone', { body: { tomaster: 'gold', force: 'yes' } }),
    );
    await world.server.ok('POST', '/nodes/q1/vmclone', { tomaster: 'gold', force: 'yes' });
    expect(made()).toEqual(['gold.vda.qcow2', 'gold.vdb.qcow2']);
    expect(await world.lab.virsh('domstate', 'q1')).toBe('running');
    expect((await world.server.ok('GET', '/tables/vmmaster/rows/name=gold')).vmmaster).toHaveLength(1);
  });

  it('of the migration of a machine that is off is switched off, and moves when it is repeated', async () => {
    const { server, lab, far } = world;
    await server.ok('POST', '/nodes/q4/vm', { memorysize: '32', disksize: '4M' });
    const migrate = () => world.server.call('POST', '/nodes/q4/vmmigrate', { body: { target: 'far' } });
    await killAt(isPaused('q4'), migrate());
    expect((await migrate()).json).toEqual({ q4: { vmmigrate: 'migrated to far' } });
    await expect
      .poll(() => world.server.output())
      .toContain(
        'the virtual machine q4 on localhost was left by a command that did not end (rmigrate). muster switched it off again. Repeat the command.',
      );
    expect([await far.virsh('domstate', 'q4'), await lab.virsh('list', '--all', '--name')]).toEqual([
      'shut off',
      expect.not.stringContaining('q4'),
    ]);
    expect(await far.virsh('dumpxml', 'q4')).not.toContain('muster:work');
  });

  it('of a migration is replaced when it is repeated', async () => {
    await world.lab.virsh('migrate-setspeed', 'q1', '1');
    await killAt(
      () => existsSync(join(ownDirectory(world.far), 'q1.vdb.qcow2')) && world.lab.jobOf('q1') === 'perform3',
      world.server.call('POST', '/nodes/q1/vmmigrate', { body: { target: 'far' } }),
    );
    // Libvirt ends what nobody waits for.
    await expect.poll(() => world.lab.jobOf('q1') ?? 'none', { timeout: 60_000 }).toBe('none');
    expect(await world.lab.virsh('domstate', 'q1')).toBe('running');
    expect(files(ownDirectory(world.far), 'q1')).toEqual([
      'q1.vda.qcow2',
      'q1.vda.qcow2.muster-partial',
      'q1.vdb.qcow2',
      'q1.vdb.qcow2.muster-partial',
    ]);
    await world.lab.virsh('migrate-setspeed', 'q1', '1000');
    expect(await world.server.ok('POST', '/nodes/q1/vmmigrate', { target: 'far' })).toEqual({
      q1: { vmmigrate: 'migrated to far' },
    });
    expect([files(ownDirectory(world.lab), 'q1'), files(ownDirectory(world.far), 'q1')]).toEqual([
      [],
      ['q1.vda.qcow2', 'q1.vdb.qcow2'],
    ]);
    await lastDisk(world.far).toBe('4b454550:4M');
  });
});
