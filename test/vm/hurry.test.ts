import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startVmWorld, type VmWorld } from './world.ts';

describe('virtual machines of people who are in a hurry', { timeout: 120_000 }, () => {
  let world: VmWorld;
  /** Hypervisors where nobody listens. */
  const dead = Array.from({ length: 9 }, (_, index) => `127.148.9.${index + 1}`);
  beforeAll(async () => {
    world = await startVmWorld('127.148');
    const machine = { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64', vmmemory: '16' };
    const disks = { vmstorage: `dir://${world.lab.images}`, vmstoragemodel: 'virtio' };
    await world.server.ok('PUT', '/nodes', {
      r1: { ...machine, ...disks },
      r2: { ...machine, ...disks },
      ...Object.fromEntries(dead.map((vmhost, index) => [`d${index + 1}`, { ...machine, vmhost }])),
    });
  });
  afterAll(() => world?.stop());

  const disks = () => readdirSync(world.lab.images).filter((name) => name !== 'boot.img');
  const statuses = async (...requests: [method: string, path: string, body: object][]) => {
    const replies = await Promise.all(
      requests.map(([method, path, body]) => world.server.call(method, path, { body })),
    );
    return replies.map(({ status }) => status).toSorted((a, b) => a - b);
  };
  const definition = () => world.lab.virsh('dumpxml', 'r1');

  it('are made once though they are asked for several times at once, and have the disk that was made', async () => {
    const make: [string, string, object] = ['POST', '/nodes/r1/vm', { disksize: '8M', force: 'yes' }];
    expect(await statuses(make, make, make, make)).toEqual([201, 403, 403, 403]);
    expect([disks(), await world.lab.virsh('list', '--all', '--name')]).toEqual([['r1.vda.qcow2'], 'r1']);
    await world.server.ok('PUT', '/nodes/r1/power', { action: 'on' });
    await world.server.ok('PUT', '/nodes/r1/power', { action: 'off' });
  });

  it('are all that was asked of them at once', async () => {
    const changes = [
      ['PUT', '/nodes/r1/nextboot', { order: 'cd' }],
      ['PUT', '/nodes/r1/vm', { memorysize: '24' }],
      ['PUT', '/nodes/r1/vm', { cpucount: '3' }],
    ] satisfies [string, string, object][];
    expect(await statuses(...changes)).toEqual([200, 200, 200]);
    const xml = await definition();
    expect(xml.match(/(?<=<boot dev=')\w+/g)?.[0]).toBe('cdrom');
    expect(xml).toContain("<memory unit='KiB'>24576</memory>");
    expect(xml).toContain("<vcpu placement='static'>3</vcpu>");
  });

  it('are not made of what is no size, and not changed by it', async () => {
    const before = await definition();
    const cases = [
      ['POST', 'r2', { disksize: ',,' }, '"disksize" is a list with nothing in it.'],
      [
        'POST',
        'r2',
        { disksize: '8P' },
        'r2: "8P" is not the size of a disk: give gigabytes, or a number with K, M, G or T.',
      ],
      ['POST', 'r2', { memorysize: '99999999T' }, 'r2: "99999999T" is more memory than a machine can have.'],
      ['PUT', 'r1', { resizedisk: 'vda=9M,vda=10M' }, 'r1: its disk vda cannot have two sizes.'],
      ['PUT', 'r1', { purgedisk: ' , ' }, '"purgedisk" is a list with nothing in it.'],
    ] as const;
    for (const [method, node, body, sentence] of cases)
      expect(await world.complaints(method, `/nodes/${node}/vm`, body)).toEqual([sentence]);
    expect([await definition(), disks()]).toEqual([before, ['r1.vda.qcow2']]);
  });

  it('are made though nine of ten hypervisors, which are known by their addresses, do not answer', async () => {
    const complaints = await world.complaints('POST', '/nodes/d1-d9,r2/vm', {});
    expect(complaints.toSorted()).toEqual(
      dead.map((_, index) => expect.stringMatching(`^d${index + 1}: .*127\\.148\\.9\\.${index + 1}`)),
    );
    expect(complaints.join(' ')).not.toContain('no address is known');
    expect(await world.server.ok('GET', '/nodes/r2/power')).toEqual({ r2: { power: 'off' } });
  });
});
