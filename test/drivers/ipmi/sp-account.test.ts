import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { Capabilities } from '../../../src/drivers/capabilities.ts';
import type { Driver } from '../../../src/drivers/driver.ts';
import { ipmiDriver } from '../../../src/drivers/ipmi/index.ts';
import { labAccounts } from '../../lab/addresses.ts';
import { type BmcLab, startBmcs } from '../../lab/bmc.ts';
import { patient, scriptedLink, type Step } from '../../protocols/ipmi/commands/script.ts';
import { ipmitool } from './ipmitool.ts';
import { over } from './script.ts';

const { signal } = new AbortController();
let lab: BmcLab;
let driver: Driver;

beforeAll(async () => {
  lab = await startBmcs({ count: 1, prefix: '127.65' });
  driver = ipmiDriver({ ipmiTimeout: 3_000 });
});
afterAll(async () => {
  await driver?.close();
  await lab?.stop();
});

const node = () =>
  driver.connect({
    node: 'n1',
    address: lab.addresses[0]!,
    port: undefined,
    ...labAccounts.administrator,
  }) as Required<Capabilities>;
const set = (settings: Readonly<Record<string, string>>) => node().serviceProcessor.set(settings, signal);
const tool = (account: { username: string; password: string }, ...words: string[]) =>
  ipmitool(lab.addresses[0]!, account, ...words);
const shown = async () => (await node().accounts.list(signal)).map(({ id, name, role }) => [id, name, role].join(' '));

describe('settings of an account', () => {
  it.each([
    [{ userid: '5', username: 'fred' }, /nobody at userid 5 yet: give username and password, both/],
    [{ userid: '5', password: 'Leak-Me-01' }, /nobody at userid 5 yet: give username and password, both/],
    [{ userid: '5', username: 'viewer', password: 'Leak-Me-01' }, /account "viewer" already, with the userid 4/],
    [{ userid: '3', username: 'admin' }, /account "admin" already, with the userid 2/],
    [{ userid: '2', password: 'Leak-Me-01', ip: '127.65.0.9' }, /set ip in one call and the account in another/],
    [{ hostname: 'early', userid: '5', username: 'fred' }, /nobody at userid 5/],
  ])('%j are refused before anything is sent', async (given, sentence) => {
    const setting = set(given);
    await expect(setting).rejects.toMatchObject({ kind: 'invalid', message: expect.stringMatching(sentence) });
    await expect(setting).rejects.toMatchObject({ message: expect.not.stringContaining('Leak-Me') });
    expect(await shown()).toEqual(['2 admin administrator', '3 oper operator', '4 viewer readonly']);
    expect(await node().serviceProcessor.get('hostname', signal)).not.toEqual({ 'BMC Hostname': 'early' });
  });

  it('make, rename and change an account in any order', async () => {
    expect(await set({ password: 'first-Secret1', username: 'fred', userid: '5' })).toEqual({});
    expect(await shown()).toContain('5 fred administrator');
    const login = { username: 'fred', password: 'first-Secret1' };
    expect(await tool(login, 'chassis', 'power', 'status')).toMatch(/Chassis Power is/);
    expect(await set({ userid: '5', username: 'frida' })).toEqual({});
    expect(await tool({ ...login, username: 'frida' }, 'chassis', 'power', 'status')).toMatch(/Chassis Power is/);
    expect(await set({ userid: '3', password: 'operpw-2' })).toEqual({});
    expect(await shown()).toContain('3 oper operator');
  });

  it('of the account that muster uses say what to do, unless they are what it knows', async () => {
    const { username, password } = labAccounts.administrator;
    expect(await set({ userid: '2', username, password })).toEqual({});
    expect(await set({ userid: '2', password: 'own-Secret1' })).toEqual({
      Message: ['This is the account used to reach it: set bmcpassword of the node to the new value.'],
    });
    expect(await tool({ username, password: 'own-Secret1' }, 'chassis', 'power', 'status')).toMatch(/Chassis Power is/);
  });
});

const hex = (text: string, length: number): string => Buffer.from(text.padEnd(length, '\0')).toString('hex');
const channel: Step = { request: '06 42 0e', data: '01040181f21b000000' };
const places: Step = { request: '06 44 01 01', data: '04 01 01 0f' };
const fred: Step = { request: '06 46 03', data: hex('fred', 16) };
const empty: Step = { request: '06 46 03', data: hex('', 16) };
const others: Step[] = [1, 2, 4].map((user) => ({ request: `06 46 0${user}`, data: hex('', 16) }));
const access: Step = { request: '06 44 01 03', data: '04 01 01 14' };
const name = (text: string): Step => ({ request: `06 45 03 ${hex(text, 16)}` });
const refused: Step = { request: `06 47 83 02 ${hex('short', 20)}`, code: 0x80 };
const settings = { userid: '3', username: 'frida', password: 'short' };

test.each([
  ['an account keeps its name', [fred, ...others, access, name('frida'), refused, name('fred')]],
  [
    'a new account is not left',
    [
      empty,
      ...others,
      access,
      name('frida'),
      refused,
      { request: `06 47 03 00 ${hex('', 16)}` },
      { request: '06 43 b1 03 0f 00' },
      name(''),
    ],
  ],
])('%s where its password is refused', async (_what, steps: readonly Step[]) => {
  const link = scriptedLink([channel, places, ...steps]);
  await expect(over(link).serviceProcessor.set(settings, patient)).rejects.toThrow(/does not accept this password/);
  expect(link.left()).toBe(0);
});

test('an account that cannot be renamed back says so, and what was set before', async () => {
  const link = scriptedLink([
    channel,
    places,
    fred,
    ...others,
    { request: '0c 01 01 00 01' },
    { request: '0c 01 01 06 ffff0000' },
    { request: '0c 01 01 00 02' },
    { request: '0c 01 01 00 00' },
    access,
    name('frida'),
    refused,
    { ...name('fred'), code: 0xcc },
  ]);
  const setting = over(link).serviceProcessor.set({ ...settings, netmask: '255.255.0.0' }, patient);
  await expect(setting).rejects.toThrow(/"fred" is called "frida" now and could not be renamed back/);
  await expect(setting).rejects.toThrow(/Before that, netmask had been set\.$/);
});

test('a userid beyond those of the BMC is refused', async () => {
  const link = scriptedLink([channel, places]);
  await expect(over(link).serviceProcessor.set({ ...settings, userid: '9' }, patient)).rejects.toThrow(
    /room for the userids 1 to 4; there is no 9/,
  );
});
