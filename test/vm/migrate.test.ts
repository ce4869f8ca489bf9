import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { vm } from '../../src/rest/endpoints/vm.ts';
import { openStream } from '../hardware/stream.ts';
import type { LibvirtLab } from '../lab/libvirt.ts';
import { askGuest } from '../lab/libvirt/telling.ts';
import { startTwoHypervisors } from './world.ts';

describe('virtual machines that move', { timeout: 180_000 }, () => {
  let world: Awaited<ReturnType<typeof startTwoHypervisors>>;
  /** Of either hypervisor another directory under this path. */
  const ownPath = '/var/lib/libvirt/images';
  const ownDirectory = (lab: LibvirtLab) => join(lab.directory, 'lib', 'images');
  beforeAll(async () => {
    world = await startTwoHypervisors('127.53', 'powerTimeout = 60');
    const machine = { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmstoragemodel: 'virtio' };
    await world.server.ok('PUT', '/nodes', {
      k1: { ...machine, vmstorage: `dir://${world.lab.images}` },
      k2: { ...machine, vmstorage: `dir://${ownPath}` },
      k3: machine,
    });
    for (const lab of [world.lab, world.far]) mkdirSync(ownDirectory(lab), { recursive: true });
    await world.placeGuest('k1');
    await world.placeGuest('k2', ownDirectory(world.lab));
    await world.server.ok('POST', '/nodes/k1,k2/vm', { memorysize: '32' });
    await world.server.ok('PUT', '/nodes/k1,k2/vm', { adddisk: '4M' });
    await world.server.ok('PUT', '/nodes/k1,k2/power', { action: 'on' });
    for (const node of ['k1', 'k2']) await askGuest(world.lab, node, node.toUpperCase());
  });
  afterAll(() => world?.stop());

  const migrate = (node: string, target: string) => world.server.ok('POST', `/nodes/${node}/vmmigrate`, { target });
  const refusal = async (node: string, body: object) =>
    (await world.complaints('POST', `/nodes/${node}/vmmigrate`, body))[0];
  const machines = async (lab: LibvirtLab) =>
    (await lab.virsh('list', '--all', '--name')).split('\n').filter(Boolean).sort();
  const everywhere = async () => [await machines(world.lab), await machines(world.far)];
  const hostOf = async (node: string) => (await world.server.ok('GET', `/nodes/${node}/attrs/vmhost`))[node].vmhost;
  const lastDisk = (lab: LibvirtLab, node: string) =>
    expect.poll(async () => (await askGuest(lab, node)).disks.at(-1), { timeout: 60_000 });
  const ownFiles = (node: string) =>
    [world.lab, world.far].map((lab) => existsSync(join(ownDirectory(lab), `${node}.vdb.qcow2`)));

  it('go on running elsewhere, on disks that both hypervisors have', async () => {
    expect(await migrate('k1', 'far')).toEqual({ k1: { vmmigrate: 'migrated to far' } });
    expect([await everywhere(), await hostOf('k1')]).toEqual([[['k2'], ['k1']], 'far']);
    expect(await world.server.ok('GET', '/tables/vmmove/rows/node=k1')).toEqual({
      vmmove: [{ node: 'k1', host: 'far' }],
    });
    expect(await world.far.virsh('domstate', 'k1')).toBe('running');
    expect(await world.far.virsh('dominfo', 'k1')).toMatch(/Persistent:\s+yes/);
    await lastDisk(world.far, 'k1').toBe('4b310000:4M');
    await askGuest(world.far, 'k1', 'FAR');
    expect(await migrate('k1', 'far')).toEqual({ k1: { vmmigrate: 'Guest is already on host far' } });
    expect(await world.server.ok('GET', '/nodes/k1/power')).toEqual({ k1: { power: 'on' } });
  });

  it('take their disks along where the same path is another place', async () => {
    expect(await migrate('k2', 'far')).toEqual({ k2: { vmmigrate: 'migrated to far' } });
    expect([await everywhere(), await hostOf('k2'), ownFiles('k2')]).toEqual([
      [[], ['k1', 'k2']],
      'far',
      [false, true],
    ]);
    await lastDisk(world.far, 'k2').toBe('4b320000:4M');
  });

  it('move while they are off, with their disks if need be', async () => {
    await world.server.ok('PUT', '/nodes/k1,k2/power', { action: 'off' });
    expect(await migrate('k1,k2', 'localhost')).toEqual({
      k1: { vmmigrate: 'migrated to localhost' },
      k2: { vmmigrate: 'migrated to localhost' },
    });
    expect([await everywhere(), ownFiles('k2')]).toEqual([
      [['k1', 'k2'], []],
      [true, false],
    ]);
    expect(await Promise.all(['k1', 'k2'].map((node) => world.lab.virsh('domstate', node)))).toEqual([
      'shut off',
      'shut off',
    ]);
    await world.server.ok('PUT', '/nodes/k1,k2/power', { action: 'on' });
    await lastDisk(world.lab, 'k1').toBe('46415200:4M');
    await lastDisk(world.lab, 'k2').toBe('4b320000:4M');
  });

  it('stay where they are when they cannot move', async () => {
    writeFileSync(join(ownDirectory(world.far), 'k2.vdb.qcow2'), 'precious');
    expect(await refusal('k2', { target: 'far' })).toBe(
      `k2: there is another disk ${ownPath}/k2.vdb.qcow2 on far already; remove it there first.`,
    );
    await world.far.virsh('vol-delete', `${ownPath}/k2.vdb.qcow2`);
    await world.server.ok('POST', '/nodes/k1/snapshots', { name: 'pin' });
    expect(await refusal('k1', { target: 'far' })).toBe(
      'k1: it has snapshots (pin), which cannot move: delete them first.',
    );
    await world.server.ok('DELETE', '/nodes/k1/snapshots/pin');
    await world.lab.virsh('managedsave', 'k1');
    expect(await refusal('k1', { target: 'far' })).toMatch(/^k1: its memory is saved on localhost/);
    await world.server.ok('PUT', '/nodes/k1/power', { action: 'on' });
    // What it is at its next start counts too, though it runs as it was made.
    const made = await world.lab.virsh('dumpxml', '--inactive', 'k1');
    const define = async (xml: string) => {
      writeFileSync(join(world.lab.directory, 'k1.xml'), xml);
      await world.lab.virsh('define', join(world.lab.directory, 'k1.xml'));
    };
    await define(
      made
        .replace("<domain type='qemu'", "<domain xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0' type='qemu'")
        .replace('</domain>', "<qemu:commandline><qemu:arg value='-snapshot'/></qemu:commandline></domain>"),
    );
    expect(await refusal('k1', { target: 'far' })).toBe(
      'k1: its definition has <qemu:commandline>, and muster lets no machine bring that to far. Take it out of the definition, or move the machine with virsh if you trust it.',
    );
    await define(made);
    await world.makeByHand('k3', { disk: join(world.lab.images, 'k3.img') });
    const definition = (await world.lab.virsh('dumpxml', 'k3'))
      .replace("type='file' device", "type='volume' device")
      .replace(/<source file=.*?\/>/, "<source pool='theirs' volume='k3.img'/>");
    writeFileSync(join(world.lab.directory, 'k3.xml'), definition);
    await world.lab.virsh('define', join(world.lab.directory, 'k3.xml'));
    expect(await refusal('k3', { target: 'far' })).toBe(
      'k3: its disk vda is the volume k3.img of the pool theirs, and muster cannot know whether far has the same. Define the disk by the path of its file, or move the machine with virsh.',
    );
    await world.lab.virsh('undefine', 'k3');
    expect(await refusal('k1', { target: 'unheard-of' })).toBe(
      'k1: no address is known of unheard-of; set its ip, or make it known to DNS.',
    );
    expect(await refusal('k1', { target: '../x y' })).toBe(
      '"../x y" is not a name for a hypervisor; give a host name or an address.',
    );
    const nothing = await world.server.call('POST', '/nodes/k1/vmmigrate', { body: {} });
    expect([nothing.status, nothing.json.errorcode]).toEqual([400, 3]);
    expect([await everywhere(), await hostOf('k1'), ownFiles('k2')]).toEqual([
      [['k1', 'k2'], []],
      'localhost',
      [true, false],
    ]);
    expect(await world.lab.virsh('domstate', 'k1')).toBe('running');
  });

  it('keep their UEFI variables, on the way and when only their disks are kept', async () => {
    const { server, lab } = world;
    await server.ok('PUT', '/nodes', {
      efi: {
        groups: 'vms',
        mgt: 'kvm',
        vmhost: 'localhost',
        arch: 'x86_64',
        vmstorage: `dir://${lab.images}`,
        vmothersetting: 'firmware:uefi',
      },
    });
    await server.ok('POST', '/nodes/efi/vm', { memorysize: '128', disksize: '4M' });
    await server.ok('PUT', '/nodes/efi/power', { action: 'on' });
    const [path] = /(?<=<nvram[^>]*>)[^<]+/.exec(await lab.virsh('dumpxml', 'efi'))!;
    await server.ok('PUT', '/nodes/efi/power', { action: 'off' });
    const variables = path.replace('/var/lib/libvirt', join(lab.directory, 'lib'));
    expect(await refusal('efi', { target: 'far' })).toBe(
      'efi: it is off, and its UEFI variables, such as the boot order, are in a file of localhost that moves only with a running machine. Switch it on with PUT /nodes/efi/power {"action":"on"} and move it while it runs.',
    );
    const before = readFileSync(variables);
    await server.ok('DELETE', '/nodes/efi/vm');
    expect(readFileSync(variables)).toEqual(before);
    await server.ok('POST', '/nodes/efi/vm', { memorysize: '128' });
    await server.ok('DELETE', '/nodes/efi/vm', { purge: 'yes' });
    expect(existsSync(variables)).toBe(false);
  });

  /** A megabyte a second, so that there is something to interrupt. */
  const slowly = () => world.lab.virsh('migrate-setspeed', 'k2', '1');
  const isUnderWay = () => world.lab.jobOf('k2') === 'perform3';
  const expectUnmoved = async () => {
    expect([await everywhere(), await hostOf('k2'), ownFiles('k2')]).toEqual([
      [['k1', 'k2'], []],
      'localhost',
      [true, false],
    ]);
    expect(await world.lab.virsh('domstate', 'k2')).toBe('running');
    await lastDisk(world.lab, 'k2').toBe('4b320000:4M');
  };

  it.each([
    ['lab', 'before'],
    ['far', 'before'],
    ['lab', 'while'],
    ['far', 'while'],
  ] as const)('stay where they are when libvirt of %s dies %s they move', async (which, moment) => {
    await slowly();
    const request = world.server.call('POST', '/nodes/k2/vmmigrate', { body: { target: 'far' } });
    const isReached = moment === 'while' ? isUnderWay : () => ownFiles('k2')[1]!;
    const reply = await world.killDuring(isReached, request, undefined, world[which]);
    expect([reply.status, reply.json.error]).toEqual([403, [expect.stringMatching(/^k2: [^.]*libvirt[^.]*\.$/)]]);
    await expectUnmoved();
  });

  it('tell how far they are, and stay where they are when they are told to', async () => {
    await slowly();
    const begin = () => openStream(world.server, 'POST', '/nodes/k2/vmmigrate', { target: 'far' });
    let stream = await begin();
    const shown = () => world.server.ok('GET', `/runs/${stream.run}`);
    const progress = async (): Promise<string> => {
      const run = await shown();
      const text = JSON.stringify(run);
      // libvirt was killed before in the middle of a migration, and may have left in QEMU for good what it had given to it for that.
      if (text.includes("Duplicate nodes with node-name='migration-")) {
        for (const action of ['off', 'on']) await world.server.ok('PUT', '/nodes/k2/power', { action });
        await slowly();
        stream = await begin();
      }
      return run.underWay?.k2 ?? text;
    };
    await expect.poll(progress, { timeout: 60_000, interval: 50 }).toMatch(/^\d+ MB of \d+ MB are copied$/);
    const { vmmove } = await world.server.ok('GET', '/tables/vmmove/rows/node=k2');
    expect(vmmove).toEqual([{ node: 'k2', target: 'far', begun: expect.stringMatching(/Z$/), host: 'localhost' }]);
    await world.server.ok('DELETE', `/runs/${stream.run}`);
    await expect.poll(async () => (await shown()).state, { timeout: 60_000 }).toBe('cancelled');
    expect((await shown()).results).toEqual([
      { node: 'k2', error: expect.stringMatching(/libvirt on localhost says/) },
    ]);
    await expectUnmoved();
  });

  it('do what the examples of the documentation say', async () => {
    const { server, lab, ssh } = world;
    await server.ok('PUT', '/nodes', {
      n1: { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmstorage: `dir://${lab.images}` },
      hv2: { groups: 'all', ip: ssh.addresses[0]! },
    });
    const inOrder = [
      'POST vm',
      'PUT vm',
      'POST snapshots',
      'GET snapshots',
      'GET snapshots/{snapshot}',
      'PUT snapshots/{snapshot}',
      'DELETE snapshots/{snapshot}',
      'DELETE snapshots',
      'POST vmclone',
      'POST vmmigrate',
      'DELETE vm',
    ];
    const rows = new Map(vm.map((row) => [`${row.method} ${row.path.replace('/nodes/{noderange}/', '')}`, row]));
    expect([...rows.keys()].sort()).toEqual(inOrder.toSorted());
    for (const name of inOrder) {
      const { method, example, reply: shape } = rows.get(name)!;
      const reply = await server.call(
        method,
        example.path,
        example.body === undefined ? {} : { body: example.body as object },
      );
      expect([name, reply.status, reply.text]).toEqual([name, method === 'POST' ? 201 : 200, expect.anything()]);
      if (shape === 'none') continue;
      const [[shown], [expected]] = [reply.json, example.reply].map((each) => Object.values(each as object)) as [
        object[],
        object[],
      ];
      expect([name, Object.keys(shown!)]).toEqual([name, Object.keys(expected!)]);
    }
    expect(await hostOf('n1')).toBe('hv2');
  });
});
