import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInstalled } from '../../scripts/packages.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { startVm, type Vm } from '../lab/vm.ts';
import { define, labNode } from './nodes.ts';

const canRun = isInstalled('qemu-system-x86_64');
if (!canRun) console.warn('The tests with virtual machines are left out: qemu-system-x86 could not be installed.');

describe.skipIf(!canRun)('a machine that is switched over REST', () => {
  let server: TestServer;
  let vm: Vm;
  beforeAll(async () => {
    [server, vm] = await Promise.all([startServer(), startVm({ prefix: '127.90' })]);
    await define(server, { vm1: labNode('ipmi', vm.address) });
  });
  afterAll(() => Promise.all([server?.stop(), vm?.stop()]));
  const power = (action: string) => server.ok('PUT', '/nodes/vm1/power', { action });
  const stateOf = async () => (await server.ok('GET', '/nodes/vm1/power')).vm1.power as string;

  it('runs while its power is on', async () => {
    expect([vm.pid(), await stateOf()]).toEqual([undefined, 'off']);
    await power('on');
    expect(vm.pid()).toBeDefined();
    expect(await stateOf()).toBe('on');
    await vm.shows(vm.texts.disk);
  });

  it('tries the network once when nextboot says so', async () => {
    const before = vm.pid();
    await server.ok('PUT', '/nodes/vm1/nextboot', { order: 'net' });
    expect(await server.ok('GET', '/nodes/vm1/nextboot')).toEqual({ vm1: { nextboot: 'Network' } });
    await power('reset');
    await vm.shows(vm.texts.network);
    expect(vm.pid()).toBe(before);
    expect(await server.ok('GET', '/nodes/vm1/nextboot')).toEqual({ vm1: { nextboot: 'boot override inactive' } });
    await power('boot');
    await vm.shows(vm.texts.disk, 2);
  });

  it('is gone when its power is off', async () => {
    await power('off');
    await expect.poll(() => vm.pid()).toBeUndefined();
    expect(await stateOf()).toBe('off');
  });
});
