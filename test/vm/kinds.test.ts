import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { written } from '../harness/output.ts';
import { startVmWorld, type VmWorld } from './world.ts';

describe('virtual machines of many kinds', { timeout: 120_000 }, () => {
  let world: VmWorld;
  let images: string;
  let loop: string;
  beforeAll(async () => {
    world = await startVmWorld('127.139');
    const { server, lab } = world;
    ({ images } = lab);
    const raw = join(lab.directory, 'device.img');
    writeFileSync(raw, Buffer.alloc(1 << 20));
    loop = execFileSync('losetup', ['--find', '--show', raw], { encoding: 'utf8' }).trim();
    const small = join(lab.directory, 'small');
    mkdirSync(small);
    await lab.inside('mount', '-t', 'tmpfs', '-o', 'size=9m', 'tmpfs', small);
    await lab.inside('dd', 'if=/dev/zero', `of=${join(small, 'filler')}`, 'bs=64k', 'count=143', 'status=none');
    await lab.inside('ip', 'link', 'add', 'br0', 'type', 'bridge');
    const network = join(lab.directory, 'network.xml');
    writeFileSync(network, "<network><name>inner</name><bridge name='virbr9'/></network>");
    await lab.virsh('net-create', network);
    const pool = join(lab.directory, 'pool');
    mkdirSync(pool);
    await lab.virsh('pool-create-as', 'shelf', 'dir', '--target', pool);
    const machine = { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmmemory: '64' };
    const made = { ...machine, vmstorage: `dir://${images}` };
    await server.ok('PUT', '/nodes', {
      k1: { ...made, vmothersetting: 'firmware:secureboot', vmmemory: '128' },
      k2: { ...made, vmothersetting: 'firmware:uefi', vmmemory: '128' },
      k3: { ...machine, vmnics: 'br0,inner|network=e1000' },
      k4: { ...machine, vmstorage: `phy:${loop}=virtio|shelf=virtio` },
      k5: { ...machine, vmstorage: `dir://${small}` },
      k6: { ...machine, vmothersetting: 'devpassthrough:pci_0000_7f_1e_7;vcpupin:0;membind:0' },
      k7: { ...made },
      k8: { ...machine, vmstorage: 'nfs://127.139.0.9/nothing' },
      k9: { ...machine, vmstorage: 'lvm://nothing' },
      seen: { ...made, vmvirtflags: 'imageformat=fullraw,placement_affinity=pinned' },
    });
  });
  afterAll(async () => {
    await world?.stop();
    if (loop) execFileSync('losetup', ['--detach', loop]);
  });

  const power = (node: string, action: string) => world.server.ok('PUT', `/nodes/${node}/power`, { action });
  const definition = (node: string) => world.lab.virsh('dumpxml', node);
  const filesWith = (directory: string, text: string): string[] =>
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => readFileSync(file).includes(text));

  it('start with Secure Boot and with UEFI alone, and can be told what to boot next', async () => {
    const { server, lab } = world;
    await server.ok('POST', '/nodes/k1,k2/vm', { disksize: '8M' });
    await power('k1,k2', 'on');
    const [secure, plain] = await Promise.all(['k1', 'k2'].map(definition));
    expect(secure).toMatch(/<loader [^>]*secure='yes'/);
    expect(secure).toContain("<smm state='on'/>");
    expect(plain).toMatch(/<loader readonly='yes' type='pflash'/);
    for (const xml of [secure, plain]) {
      expect(xml).toMatch(/machine='pc-q35-/);
      expect(xml).toContain("<target dev='sda' bus='sata'/>");
      expect(xml).toContain("<console type='pty'");
    }
    expect(await server.ok('GET', '/nodes/k1,k2/inventory/firm')).toEqual({
      k1: { Firmware: 'UEFI with Secure Boot' },
      k2: { Firmware: 'UEFI' },
    });
    await server.ok('PUT', '/nodes/k1/nextboot', { order: 'net' });
    await power('k1', 'reset');
    expect((await definition('k1')).match(/(?<=<boot dev=')\w+/g)).toEqual(['network', 'hd']);
    await server.ok('DELETE', '/nodes/k1,k2/vm', { purge: 'yes', force: 'yes' });
    expect(await lab.virsh('list', '--all', '--name')).toBe('');
  });

  it('are on bridges and on networks of libvirt', async () => {
    await world.server.ok('POST', '/nodes/k3/vm');
    await power('k3', 'on');
    const list = await world.lab.virsh('domiflist', 'k3');
    expect(list.split('\n').map((line) => line.split(/\s+/).filter(Boolean).slice(1, 4))).toEqual([
      ['bridge', 'br0', 'virtio'],
      ['network', 'inner', 'e1000'],
    ]);
    const { k3 } = await world.server.ok('GET', '/nodes/k3/vitals');
    expect(Object.keys(k3).filter((label) => /^Network \S+ Received$/.test(label))).toHaveLength(2);
    await world.server.ok('DELETE', '/nodes/k3/vm', { force: 'yes' });
  });

  it('have devices and disks in pools of libvirt', async () => {
    const { server, lab } = world;
    expect(await world.complaints('POST', '/nodes/k4/vm', { disksize: '8M,8M' })).toEqual([
      `k4: no disk can be made at ${loop}: it is neither a directory nor a pool.`,
    ]);
    await server.ok('PUT', '/nodes/k4', { vmstorage: `shelf=virtio|phy:${loop}=virtio` });
    await server.ok('POST', '/nodes/k4/vm', { disksize: '8M' });
    await power('k4', 'on');
    const list = (await lab.virsh('domblklist', 'k4', '--details')).split('\n');
    const made = join(lab.directory, 'pool', 'k4.vda.qcow2');
    expect(list.map((line) => line.split(/\s+/).filter(Boolean))).toEqual([
      ['file', 'disk', 'vda', made],
      ['block', 'disk', 'vdb', loop],
    ]);
    await server.ok('DELETE', '/nodes/k4/vm', { purge: 'yes', force: 'yes' });
    expect([existsSync(made), existsSync(loop)]).toEqual([false, true]);
    expect(await world.removedOf('k4')).toEqual([]);
  });

  it('are not made where there is no room, no server and no volume group, and leave nothing behind', async () => {
    const { lab } = world;
    const small = join(lab.directory, 'small');
    expect(await world.complaints('POST', '/nodes/k5/vm', { disksize: '8M' })).toEqual([
      expect.stringMatching(`^k5: ${small} on localhost has no space for a disk of 8 MB: 0 MB are free\\.$`),
    ]);
    expect(await world.complaints('POST', '/nodes/k5/vm', { disksize: '16M' })).toEqual([
      `k5: a disk of 16 MB is larger than ${small} on localhost, which has 9 MB.`,
    ]);
    expect(await lab.inside('ls', small)).toBe('filler');
    for (const node of ['k8', 'k9']) {
      const [complaint] = await world.complaints('POST', `/nodes/${node}/vm`, { disksize: '8M' });
      expect(complaint).toMatch(`${node}: libvirt on localhost says: `);
    }
    expect(await lab.virsh('list', '--all', '--name')).toBe('');
  });

  it('get devices of their hypervisor, as far as it has them', async () => {
    await world.server.ok('POST', '/nodes/k6/vm');
    const xml = await definition('k6');
    expect(xml).toMatch(/<hostdev mode='subsystem' type='pci' managed='yes'>/);
    expect(xml).toContain("<address domain='0x0000' bus='0x7f' slot='0x1e' function='0x7'/>");
    expect(xml).toContain("<vcpu placement='static' cpuset='0'>1</vcpu>");
    expect(xml).toContain("<memory mode='strict' nodeset='0'/>");
    expect(await world.server.ok('GET', '/nodes/k6/inventory/pci')).toEqual({
      k6: { 'PCI device 1': '0000:7f:1e.7' },
    });
    const [complaint] = await world.complaints('PUT', '/nodes/k6/power', { action: 'on' });
    expect(complaint).toMatch(/^k6: libvirt on localhost says: /);
    await world.server.ok('DELETE', '/nodes/k6/vm');
  });

  it('have a display whose password is in no reply, no log and no row', async () => {
    const { server, lab } = world;
    const vidpassword = 'Xq7#w9Lp';
    await server.ok('PUT', '/tables/vm/nodes/seen', { vm: { vidproto: 'vnc', vidmodel: 'cirrus', vidpassword } });
    expect((await server.ok('GET', '/tables/vm/nodes/seen')).vm).toMatchObject([{ vidpassword: '********' }]);
    await server.ok('POST', '/nodes/seen/vm', { disksize: '8M' });
    // Both define the machine again.
    await server.ok('PUT', '/nodes/seen/nextboot', { order: 'net' });
    await server.ok('PUT', '/nodes/seen/vm', { memorysize: '32' });
    const secrets = await lab.virsh('dumpxml', '--security-info', 'seen');
    expect(/(?<=<graphics type='vnc' [^>]*passwd=')[^']*/.exec(secrets)?.[0]).toBe(vidpassword);
    expect(secrets).toMatch(/<video>\s*<model type='cirrus'/);
    await lab.inside('ip', 'link', 'set', 'lo', 'up');
    await power('seen', 'on');
    const vnc = await lab.virsh('qemu-monitor-command', 'seen', '--hmp', 'info', 'vnc');
    expect(vnc).toMatch(/Auth: vnc/);
    const { seen } = await server.ok('GET', '/nodes/seen/inventory/hw');
    expect(seen).toMatchObject({
      Display: `vnc at ${/(?<=Server: )\S+/.exec(vnc)![0]}`,
      'Serial console': expect.stringMatching(/^\/dev\/pts\/\d+$/),
    });
    await power('seen', 'off');
    await server.ok('POST', '/nodes/seen/vmclone', { tomaster: 'shown' });
    expect((await server.ok('GET', '/tables/kvm_masterdata/rows/name=shown')).kvm_masterdata[0].xml).toContain(
      '<graphics',
    );
    expect([filesWith(server.data, vidpassword), (await written(server)).includes(vidpassword)]).toEqual([[], false]);
    expect(await world.complaints('PUT', '/nodes/seen/vm', { memorysize: '1' })).not.toContain(vidpassword);
    expect(await world.complaints('POST', '/nodes/seen/vmmigrate', { target: 'far' })).toEqual([
      'seen: it stays on localhost: its attribute vmvirtflags pins it there.',
    ]);
    expect(statSync(join(images, 'seen.hda.raw')).blocks).toBeGreaterThanOrEqual(8 * 2_048);
    await server.ok('DELETE', '/nodes/seen/vm', { purge: 'yes' });
  });

  it('of others are named in the audit log when they are removed by force, and so are their disks', async () => {
    const { server, lab } = world;
    const theirs = join(images, 'theirs.img');
    writeFileSync(theirs, Buffer.alloc(1 << 20));
    await world.makeByHand('k7', { disk: theirs });
    expect(await world.complaints('POST', '/nodes/k7/vm', { disksize: '8M' })).toEqual([
      'k7: there is a virtual machine k7 on localhost that muster has not made; DELETE /nodes/k7/vm with force removes it.',
    ]);
    await world.makeByHand('neighbour', { disk: theirs });
    expect(await world.complaints('DELETE', '/nodes/k7/vm', { purge: 'yes', force: 'yes' })).toEqual([
      `k7: the disk ${theirs} is in use by the machine neighbour on localhost.`,
    ]);
    await lab.virsh('undefine', 'neighbour');
    const uuid = await lab.virsh('domuuid', 'k7');
    await server.ok('DELETE', '/nodes/k7/vm', { purge: 'yes', force: 'yes' });
    expect(existsSync(theirs)).toBe(false);
    expect(await world.removedOf('k7')).toEqual([
      `removed the virtual machine k7 (${uuid}) on localhost`,
      `removed the disk ${theirs} on localhost`,
    ]);
  });

  it('do not get a disk that another one has, and what they replace is named', async () => {
    const { server, lab } = world;
    const disk = join(images, 'k7.hda.qcow2');
    writeFileSync(disk, 'precious');
    await world.makeByHand('neighbour', { disk });
    expect(await world.complaints('POST', '/nodes/k7/vm', { disksize: '8M', force: 'yes' })).toEqual([
      `k7: the disk ${disk} is in use by the machine neighbour on localhost.`,
    ]);
    await lab.virsh('undefine', 'neighbour');
    await server.ok('POST', '/nodes/k7/vm', { disksize: '8M', force: 'yes' });
    expect((await world.removedOf('k7')).at(-1)).toBe(`removed the disk ${disk} on localhost`);
  });
});
