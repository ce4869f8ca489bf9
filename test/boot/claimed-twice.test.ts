import { afterAll, beforeAll, expect, it } from 'vitest';
import { environmentFor } from '../cli/command-line.ts';
import { ended, muster } from '../harness/muster-command.ts';
import { startServer, temporaryDirectory } from '../harness/server.ts';
import { type BootLab, bootLabOn } from './boot-client.ts';

const data = temporaryDirectory();
const install = temporaryDirectory();
let lab: BootLab;
const mac = '52:54:00:00:00:01';
const attributes = { groups: 'all', netboot: 'xnba', arch: 'x86_64' };
const startAgain = async (): Promise<void> => {
  lab = await bootLabOn(await startServer({ data, environment: { MUSTER_BOOT_LISTEN: '127.0.0.1:0' } }), install);
};

beforeAll(async () => {
  await startAgain();
  await lab.server.ok('POST', '/nodes/n1', { ...attributes, mac, ip: '127.0.0.21', serial: 'S1', mtm: 'M1' });
  await lab.server.ok('PUT', '/tables/vpd/rows/node=n1', { uuid: 'U-1' });
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { state: 'boot' });
});
afterAll(() => lab.stop());

const script = async (): Promise<string> => (await lab.from('127.0.0.21', '/boot/52-54-00-00-00-01.ipxe')).text;
const noteOf = async (name: string, body: object): Promise<unknown> =>
  (await lab.server.call('POST', `/nodes/${name}`, { body })).headers['x-muster-note'];

it('a second node with the same MAC is defined with a warning, and the first one keeps it', async () => {
  expect(await script()).toContain('#boot');
  // By name it would come first.
  expect(await noteOf('dup1', { ...attributes, mac })).toBe(
    'The MAC 525400000001 of dup1 is that of n1 too: n1 keeps it, and dup1 does not get it until n1 gives it up.',
  );
  expect(await script()).toContain('#boot');
});

it('also after a restart', async () => {
  await lab.server.stop();
  await startAgain();
  expect(await script()).toContain('#boot');
});

it('so with serial number and UUID', async () => {
  expect(await noteOf('dup2', { ...attributes, serial: 's-1', mtm: 'M1' })).toContain(
    'The mtm and serial M1 s-1 of dup2 is that of n1 too',
  );
  const { headers } = await lab.server.call('PUT', '/tables/vpd/rows/node=dup2', { body: { uuid: 'u1' } });
  expect(headers['x-muster-note']).toContain('The uuid u1 of dup2 is that of n1 too');
});

it('a node that gets another name keeps its machine', async () => {
  await lab.server.ok('PUT', '/nodes/n1/rename', { newNode: 'n11' });
  expect(await script()).toContain('#boot');
  await lab.server.ok('PUT', '/nodes/n11/rename', { newNode: 'n1' });
  expect(await script()).toContain('#boot');
});

it('the other one has it as soon as the first one gives it up', async () => {
  await lab.server.ok('PUT', '/nodes/n1', { mac: '52:54:00:00:00:09' });
  await lab.server.ok('PUT', '/nodes/dup1/bootstate', { state: 'offline' });
  expect(await script()).toContain('#offline');
});

it('who claims again what it has given up does not get it back', async () => {
  const { headers } = await lab.server.call('PUT', '/nodes/n1', { body: { mac } });
  expect(headers['x-muster-note']).toContain('of n1 is that of dup1 too: dup1 keeps it');
  expect(await script()).toContain('#offline');
});

it('a MAC that no machine can have is taken with a warning', async () => {
  expect(await noteOf('odd', { ...attributes, mac: '11:22:33:44:55:66' })).toBe(
    'mac of odd is 11:22:33:44:55:66, which no machine can have; makedhcp refuses it. Give the address of its network adapter.',
  );
  expect((await lab.server.ok('GET', '/nodes/odd')).odd.mac).toBe('11:22:33:44:55:66');
});

it('a MAC of a group is claimed by its members, and the first of them has it', async () => {
  const [own, path] = ['52:54:00:00:00:30', '/boot/52-54-00-00-00-30.ipxe'];
  const members = { ...attributes, groups: 'twins' };
  await lab.server.ok('PUT', '/nodes', { m1: { ...members, ip: '127.0.0.23' }, m2: members });
  await lab.server.ok('PUT', '/nodes/m1/bootstate', { state: 'boot' });
  const { headers } = await lab.server.call('PUT', '/tables/mac/rows/node=twins', { body: { mac: own } });
  expect(headers['x-muster-note']).toBe(
    'The MAC 525400000030 of m2 is that of m1 too: m1 keeps it, and m2 does not get it until m1 gives it up.',
  );
  expect((await lab.from('127.0.0.23', path)).text).toContain('#boot');
  expect(await noteOf('late', { ...attributes, mac: own })).toContain('of late is that of m1 too: m1 keeps it');
  expect((await lab.from('127.0.0.23', path)).text).toContain('#boot');
});

it('a script that gives a node the MAC of another one, or of no machine, gets the warning, and no other', async () => {
  const changed = (...words: string[]) =>
    ended(muster, ['chdef', 'late', ...words], environmentFor(lab.server, lab.server.data));
  expect((await changed('mac=52:54:00:00:00:31', 'mgt=impi')).stderr).toBe('');
  expect((await changed('mac=11:22:33:44:55:77')).stderr).toContain('Warning: mac of late is 11:22:33:44:55:77, which');
  const { code, stderr } = await changed('mac=52:54:00:00:00:30');
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining('Warning: The MAC 525400000030 of late is that of m1 too'),
  ]);
});
