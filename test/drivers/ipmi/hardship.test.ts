import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Driver } from '../../../src/drivers/driver.ts';
import { ipmiDriver } from '../../../src/drivers/ipmi/index.ts';
import { IpmiClient, type IpmiEndpoint } from '../../../src/protocols/ipmi/client.ts';
import { labAccounts } from '../../lab/addresses.ts';
import { type BmcLab, startBmcs } from '../../lab/bmc.ts';
import { noSerial } from './script.ts';

/** Accounts that may little, hardware that can little, networks that lose much. */

const { signal } = new AbortController();
let lab: BmcLab;
let stock: BmcLab;
let driver: Driver;
let oldDriver: Driver;

beforeAll(async () => {
  lab = await startBmcs({ count: 2, prefix: '127.31' });
  stock = await startBmcs({ count: 1, prefix: '127.32', stock: true });
  driver = ipmiDriver({ powerTimeout: 15_000, cycleSettling: 0 });
  // Plain ipmi_sim has nothing better than suite 3.
  const client = new IpmiClient();
  const connections = {
    link: (endpoint: IpmiEndpoint) => client.link({ ...endpoint, suites: [3] }),
    openSerial: noSerial,
    close: () => client.close(),
  };
  oldDriver = ipmiDriver({ connections });
});

afterAll(async () => {
  await driver?.close();
  await oldDriver?.close();
  await lab?.stop();
  await stock?.stop();
});

const connect = (address: string, account: keyof typeof labAccounts, through = driver) =>
  through.connect({ node: 'n1', address, port: undefined, ...labAccounts[account] });

test('an operator may switch, a user may only look', async () => {
  const operator = connect(lab.addresses[0]!, 'operator');
  expect(await operator.power?.set('on', signal)).toBe('on');
  const user = connect(lab.addresses[0]!, 'user');
  expect(await user.power?.state(signal)).toBe('on');
  expect(await user.vitals?.read(['temp'], signal)).toMatchObject({ 'Inlet Temp': '20 C (68 F)' });
  const error = await user.power?.set('off', signal).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ kind: 'invalid' });
  expect((error as Error).message).toMatch(/privilege/);
  expect(lab.state(0).power).toBe('on');
});

test('a lossy network costs time, and no command is carried out twice', async () => {
  await lab.fault(1, { loss: 20 });
  const { power, vitals } = connect(lab.addresses[1]!, 'administrator');
  for (const [action, state] of [
    ['on', 'on'],
    ['off', 'off'],
    ['on', 'on'],
  ] as const) {
    expect(await power?.set(action, signal)).toBe(state);
  }
  expect(await vitals?.read(['fanspeed'], signal)).toEqual({ Fan1: '6060 RPM', Fan2: '6120 RPM' });
  expect(lab.state(1).changes.filter((change) => change.startsWith('power='))).toEqual([
    'power=1',
    'power=0',
    'power=1',
  ]);
}, 60_000);

test('hardware without DCMI says so', async () => {
  const { energy, power } = connect(stock.addresses[0]!, 'administrator', oldDriver);
  await expect(energy?.read([], signal)).rejects.toThrow(/has no DCMI/);
  expect(await power?.set('on', signal)).toBe('on');
});

test('hardware that takes a boot device and drops its valid bit is found out', async () => {
  const { nextBoot } = connect(stock.addresses[0]!, 'administrator', oldDriver);
  expect(await nextBoot?.set('net', { persistent: false, mode: undefined }, signal)).toBe(
    'Network (its BMC took the device, but shows the override as inactive)',
  );
});
