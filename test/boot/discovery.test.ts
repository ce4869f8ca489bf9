import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addUser } from '../harness/users.ts';
import { errorOf } from '../harness/errors.ts';
import { type BootLab, startBootLab } from './boot-client.ts';

let lab: BootLab;
beforeAll(async () => {
  lab = await startBootLab();
  const { server } = lab;
  const place = join(server.data, 'ramdisk/x86_64');
  mkdirSync(place, { recursive: true });
  for (const name of ['kernel', 'initrd']) writeFileSync(join(place, name), name);
  await server.ok('POST', '/networks/boot', { net: '127.0.0.0', mask: '255.0.0.0' });
  const attributes = { groups: 'all', netboot: 'xnba', arch: 'x86_64' };
  await server.ok('PUT', '/nodes', {
    s1: { ...attributes, serial: 'SN1', mtm: 'E1', chain: 'runcmd=bmcsetup,shell' },
    o1: attributes,
    o2: attributes,
    o10: attributes,
  });
});
afterAll(() => lab.stop());

const mac = (index: number): string => `52:54:00:00:02:${index.toString(16).padStart(2, '0')}`;
const script = (index: number) => lab.from('127.0.1.9', `/boot/${mac(index).replaceAll(':', '-')}.ipxe`);
const report = async (index: number, more: object = {}, from = `127.0.1.${index}`) => {
  const body = JSON.stringify({ macs: [{ name: 'eth0', mac: mac(index) }], boot: mac(index), ...more });
  const { status, text } = await lab.from(from, '/boot/discovery', { method: 'POST', body });
  return [status, text];
};
const attributes = async (node: string, names: string) =>
  (await lab.server.ok('GET', `/nodes/${node}/attrs/${names}`))[node];

it('while discovery is off, a machine that nobody knows boots from its disk and is not listened to', async () => {
  expect((await script(1)).text).toMatch(/^#!ipxe\n#unknown\n/);
  expect(await report(1)).toEqual([403, expect.stringMatching(/Discovery is off: POST \/discovery/)]);
  expect(await lab.server.ok('GET', '/discovery')).toEqual({ ranges: [], unmatched: [] });
});

describe('while it is on', () => {
  beforeAll(() => lab.server.ok('PUT', '/globalconf/attrs/discovery', { discovery: 'yes' }));

  it('it boots the small ramdisk of its architecture', async () => {
    const { text } = await script(1);
    expect(text).toContain('iseq ${buildarch} x86_64 && goto x86_64 ||\n');
    expect(text).not.toContain('arm64');
    expect(text).toMatch(
      /:x86_64\nkernel --name kernel http:\/\/127\.0\.0\.1:\d+\/boot\/ramdisk\/x86_64\/kernel initrd=initrd \S.* destiny=discover muster\.discovery=http:\/\/127\.0\.0\.1:\d+\/boot\/discovery /,
    );
  });

  it('GRUB lets it boot the same', async () => {
    const { text } = await lab.from('127.0.1.9', `/boot/${mac(1)}.grub`);
    expect(text).toMatch(
      /^#discover\nset timeout=0\nif \[ \$grub_cpu = i386 -o \$grub_cpu = x86_64 \]; then\nlinux \(http,/,
    );
    expect(text).toMatch(
      /destiny=discover muster\.discovery=http:\/\/127\.0\.0\.1:\d+\/boot\/discovery BOOTIF=01-52-54-00-00-02-01\n/,
    );
  });

  it('it waits, and is listed with the reason', async () => {
    expect(await report(1, { serial: 'SN9', model: 'E1', cpus: 4 })).toEqual([200, 'wait 30\n']);
    expect(await lab.server.ok('GET', '/discovery')).toEqual({
      ranges: [],
      unmatched: [
        expect.objectContaining({
          reason: 'No node is defined like it, and no range is open.',
          address: '127.0.1.1',
          mac: mac(1),
          serial: 'SN9',
          cpus: 4,
          times: 1,
        }),
      ],
    });
  });

  it('one that a node is defined like becomes that node, which goes on with its chain', async () => {
    expect(await report(2, { serial: 'SN1', model: 'E1' })).toEqual([200, 'reboot\n']);
    expect(await attributes('s1', 'mac,currstate,currchain')).toEqual({
      mac: mac(2),
      currstate: 'runcmd=bmcsetup',
      currchain: 'shell',
    });
    expect((await script(2)).text).toMatch(/^#!ipxe\n#runcmd=bmcsetup\n/);
    expect(await report(3, { serial: 'SN1', model: 'E1' })).toEqual([200, 'wait 30\n']);
    const { unmatched } = await lab.server.ok('GET', '/discovery');
    expect(unmatched[1].reason).toMatch(/s1 is the machine with the MAC 52:54:00:00:02:02 already/);
  });

  it('others become the nodes of a range that is opened, in its order, until it is closed', async () => {
    const { server } = lab;
    await server.ok('POST', '/discovery', { noderange: 'o[1-2],o10', by: 'order' });
    expect((await server.ok('GET', '/discovery')).ranges).toEqual([
      { noderange: 'o[1-2],o10', by: 'order', opened: expect.any(String), openedBy: 'root', free: 3 },
    ]);
    expect(await report(1)).toEqual([200, 'reboot\n']);
    expect(await report(4)).toEqual([200, 'reboot\n']);
    expect((await attributes('o1', 'mac')).mac).toBe(mac(1));
    expect((await attributes('o2', 'mac')).mac).toBe(mac(4));
    await server.ok('DELETE', '/discovery');
    expect(await report(5)).toEqual([200, 'wait 30\n']);
    expect((await attributes('o10', 'mac')).mac).toBe('');
    expect(errorOf(await server.call('DELETE', '/discovery'))).toEqual([403, 1]);
  });

  it('a user of a node cannot name the BMC of another node', async () => {
    const { server } = lab;
    await server.ok('PUT', '/nodes', {
      victim: { groups: 'all', mgt: 'redfish', mac: mac(6), ip: '127.0.5.1' },
      user: { groups: 'all', mac: mac(7), ip: '127.0.5.2' },
    });
    const before = await server.ok('GET', '/nodes/victim');
    const claim = { serial: 'EVIL1', model: 'E1', bmc: { address: '127.66.6.6' } };
    const refusal = 'The address 127.0.5.2 belongs to another node than the one that this report names.';
    expect(await report(6, claim, '127.0.5.2')).toEqual([403, expect.stringContaining(refusal)]);
    const { unmatched } = await server.ok('GET', '/discovery');
    expect(unmatched.map((one: { reason: string }) => one.reason)).toContainEqual(
      expect.stringMatching(/^It would be victim, but its address 127\.0\.5\.2 is that of user: /),
    );
    await expect.poll(() => server.output()).toContain('A discovery report was refused. It would be victim');
    expect(await report(6, claim, '127.0.5.9')).toEqual([200, 'reboot\n']);
    expect(await server.ok('GET', '/nodes/victim')).toEqual(before);
  });

  it('a node in the ramdisk goes on when its state becomes another, whether discovery is on or not', async () => {
    const { server } = lab;
    await server.ok('PUT', '/globalconf/attrs/discovery', { discovery: 'no' });
    await server.ok('PUT', '/nodes/s1/bootstate', { state: 'standby' });
    expect(await report(2, { state: 'standby' })).toEqual([200, 'wait 30\n']);
    await server.ok('PUT', '/nodes/s1/bootstate', { state: 'shutdown' });
    expect(await report(2, { state: 'standby' })).toEqual([200, 'reboot\n']);
    expect(await report(2, { state: 'shutdown' })).toEqual([200, 'poweroff\n']);
    expect((await report(9, { state: 'standby' }))[0]).toBe(403);
  });
});

it.each([
  ['no JSON', 'x', 400],
  ['nothing', '', 400],
  ['too much', `{"a":"${'x'.repeat(70_000)}"}`, 400],
  ['deeply nested', `{"macs":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 400],
])('a report that is %s is refused', async (_name, body, status) => {
  await lab.server.ok('PUT', '/globalconf/attrs/discovery', { discovery: 'yes' });
  expect((await lab.from('127.0.1.1', '/boot/discovery', { method: 'POST', body })).status).toBe(status);
});

describe('who may', () => {
  it('open a range must have the right to do so on all of its nodes, and everywhere', async () => {
    const { server } = lab;
    const token = await addUser(server, 'op');
    const open = (noderange: string) => server.call('POST', '/discovery', { token, body: { noderange } });
    expect(errorOf(await open('o1'))).toEqual([403, 2]);
    await server.ok('POST', '/policy/5', { name: 'op', commands: 'nodediscoverstart', noderange: 'o1', rule: 'allow' });
    expect(errorOf(await open('o10'))).toEqual([403, 2]);
    // It decides whose machine a node is.
    expect(errorOf(await open('o1'))).toEqual([403, 2]);
    await server.ok('PUT', '/policy/5', { noderange: '' });
    expect((await open('o1')).status).toBe(201);
    expect(errorOf(await server.call('GET', '/discovery', { token }))).toEqual([403, 2]);
    expect(errorOf(await server.call('DELETE', '/discovery', { token }))).toEqual([403, 2]);
  });

  it.each([
    [{}, 400],
    [{ noderange: 'nosuch' }, 404],
    [{ noderange: 'o1', by: 'chance' }, 400],
  ])('%j opens nothing', async (body, status) => {
    expect((await lab.server.call('POST', '/discovery', { body })).status).toBe(status);
  });
});
