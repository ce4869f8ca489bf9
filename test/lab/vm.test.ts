import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInstalled } from '../../scripts/packages.ts';
import { ipmitool } from './tools.ts';
import { startVm, type Vm } from './vm.ts';

const canRun = isInstalled('qemu-system-x86_64');
if (!canRun) console.warn('The tests with virtual machines are left out: qemu-system-x86 could not be installed.');

describe.skipIf(!canRun)('a virtual machine with a BMC', { timeout: 120_000 }, () => {
  let vm: Vm;
  beforeAll(async () => {
    vm = await startVm({ prefix: '127.104' });
  });
  afterAll(() => vm?.stop());
  const tool = (...words: string[]) => ipmitool(vm.address, words);

  it('runs while its power is on and boots from its disk', async () => {
    expect(vm.pid()).toBeUndefined();
    await tool('power', 'on');
    await vm.shows(vm.texts.disk);
    expect(vm.pid()).toBeDefined();
    expect(await tool('power', 'status')).toContain('is on');
  });

  it('boots from the network once when told to', async () => {
    const before = vm.pid();
    await tool('chassis', 'bootdev', 'pxe');
    await tool('power', 'reset');
    await vm.shows(vm.texts.network);
    await tool('power', 'reset');
    await vm.shows(vm.texts.disk, 2);
    expect(vm.pid()).toBe(before);
    expect(vm.state().bootFlags).toBeUndefined();
  });

  it('is gone when its power is off', async () => {
    await tool('power', 'off');
    await expect.poll(() => vm.pid()).toBeUndefined();
    expect(await tool('power', 'status')).toContain('is off');
  });
});
