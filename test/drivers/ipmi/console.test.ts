import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Capabilities } from '../../../src/drivers/capabilities.ts';
import type { OpenConsole } from '../../../src/drivers/console.ts';
import type { Driver } from '../../../src/drivers/driver.ts';
import { ipmiDriver } from '../../../src/drivers/ipmi/index.ts';
import { labAccounts } from '../../lab/addresses.ts';
import { type BmcLab, startBmcs } from '../../lab/bmc.ts';
import { startVm } from '../../lab/vm.ts';
import { talkerArguments } from '../../lab/vm/configuration.ts';
import { loginDisk } from '../../lab/vm/login-disk.ts';
import { ipmitool } from './ipmitool.ts';

const { signal } = new AbortController();
const account = labAccounts.administrator;
const patience = { timeout: 120_000, interval: 50 };
let lab: BmcLab;
let driver: Driver;

beforeAll(async () => {
  lab = await startBmcs({ count: 2, prefix: '127.56', serial: (typed) => typed });
  driver = ipmiDriver({ powerTimeout: 30_000, cycleSettling: 0 });
});
afterAll(async () => {
  await driver?.close();
  await lab?.stop();
});

const at = (address: string) =>
  driver.connect({ node: 'n1', address, port: undefined, ...account }) as Required<Capabilities>;

interface Opened extends OpenConsole {
  shown(): string;
  readonly closed: unknown[];
}

async function open(address: string): Promise<Opened> {
  let shown = '';
  const closed: unknown[] = [];
  const console = await at(address).console.open(
    {
      takeOver: false,
      output: (bytes) => void (shown += Buffer.from(bytes).toString('latin1')),
      closed: (reason) => void closed.push(reason),
    },
    signal,
  );
  return { ...console, shown: () => shown, closed };
}

const type = (console: OpenConsole, text: string) => console.write(Buffer.from(text, 'latin1'));

test('serial over LAN is switched by settings of the BMC, and the refusal says by which', async () => {
  const [address] = lab.addresses;
  const { serviceProcessor } = at(address!);
  expect(await serviceProcessor.get('solenabled', signal)).toEqual({ 'Serial over LAN': 'enabled' });
  await serviceProcessor.set({ solenabled: 'off' }, signal);
  expect(await serviceProcessor.get('solenabled', signal)).toEqual({ 'Serial over LAN': 'disabled' });
  await expect(open(address!)).rejects.toThrow('set solenabled=on with rspconfig');
  await serviceProcessor.set({ solenabled: 'on', solbitrate: '57600' }, signal);
  expect(await serviceProcessor.get('solbitrate', signal)).toEqual({ 'Serial over LAN bit rate': '57600' });
  const seen = await ipmitool(address!, account, 'sol', 'info', '1');
  expect(seen).toMatch(/Enabled +: true/);
  expect(seen).toMatch(/Volatile Bit Rate \(kbps\) +: 57\.6/);
  const console = await open(address!);
  expect(console.way).toBe(`SOL ${address}`);
  await console.close();
  await expect(serviceProcessor.set({ solbitrate: '300' }, signal)).rejects.toThrow('one of 9600, 19200');
  await expect(serviceProcessor.set({ solenabled: 'maybe' }, signal)).rejects.toThrow('neither on nor off');
});

test('commands to a BMC go on while its console is open', async () => {
  const console = await open(lab.addresses[1]!);
  const { power } = at(lab.addresses[1]!);
  expect(await power.set('on', signal)).toBe('on');
  await type(console, 'still here');
  await vi.waitFor(() => expect(console.shown()).toBe('still here'), patience);
  expect(console.closed).toEqual([]);
  await console.close();
});

test('a machine boots to its login, which takes what is typed', async () => {
  const vm = await startVm({
    prefix: '127.57',
    hardware: {
      async prepare({ directory }) {
        await mkdir(join(directory, 'tftp'));
        await writeFile(join(directory, 'disk.img'), loginDisk('vm0'));
      },
      // The firmware leaves the serial port to what it boots, and waits: QEMU throws away what is printed before somebody reads.
      qemu: (machine) => [
        ...talkerArguments(machine).map((words) => words.replace(',graphics=off', '')),
        '-boot menu=on,splash-time=3000',
      ],
    },
  });
  try {
    const console = await open(vm.address);
    await at(vm.address).power.set('on', signal);
    await vi.waitFor(() => expect(console.shown()).toContain('vm0 login: '), patience);
    await type(console, 'root\r');
    await vi.waitFor(() => expect(console.shown()).toMatch(/root\r\s*vm0 login: /), { ...patience, timeout: 30_000 });
    const before = console.shown().length;
    await at(vm.address).power.set('reset', signal);
    await vi.waitFor(() => expect(console.shown().slice(before)).toContain('vm0 login: '), patience);
    expect(console.closed).toEqual([]);
    await console.close();
  } finally {
    await vm.stop();
  }
});
