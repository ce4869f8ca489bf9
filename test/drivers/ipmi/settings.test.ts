import { expect, test } from 'vitest';
import { Fault, Unreachable } from '../../../src/core/errors.ts';
import { parseSwitch, parseWatts } from '../../../src/drivers/ipmi/energy.ts';
import { ipmiProblems } from '../../../src/drivers/ipmi/index.ts';
import { planSettings } from '../../../src/drivers/ipmi/sp-settings.ts';
import { bytes, patient, scriptedLink } from '../../protocols/ipmi/commands/script.ts';
import { access, over } from './script.ts';

test.each([
  ['250', 250],
  ['250W', 250],
  ['250 w', 250],
  ['65535', 65_535],
])('the power limit %s is %i W', (value, watts) => {
  expect(parseWatts(value)).toBe(watts);
});

test.each([
  ['50%', /does not report the range/],
  ['0', /not between 1 W and 65535 W/],
  ['65536', /not between/],
  ['-5', /not a power limit/],
  ['much', /not a power limit/],
  ['', /not a power limit/],
])('the power limit "%s" is refused', (value, sentence) => {
  expect(() => parseWatts(value)).toThrow(sentence);
});

test('words for on and off', () => {
  expect(['on', 'enable', 'EN', 'enabled'].map(parseSwitch)).toEqual([true, true, true, true]);
  expect(['off', 'disable', 'dis', 'Disabled'].map(parseSwitch)).toEqual([false, false, false, false]);
  expect(() => parseSwitch('maybe')).toThrow('the value "maybe" is neither on nor off.');
});

test.each([
  [{ netmask: '255.255.0.0' }, [{ parameter: 'netmask', value: bytes('ffff0000') }]],
  [{ gateway: '10.0.0.1' }, [{ parameter: 'gateway', value: bytes('0a000001') }]],
  [{ backupgateway: '10.0.0.2' }, [{ parameter: 'backupGateway', value: bytes('0a000002') }]],
  [{ garp: '2' }, [{ parameter: 'arpInterval', value: bytes('04') }]],
  [{ vlan: '17' }, [{ parameter: 'vlan', value: bytes('1180') }]],
  [{ vlan: 'off' }, [{ parameter: 'vlan', value: bytes('0000') }]],
  [{ community: 'public' }, [{ parameter: 'community', value: bytes('7075626c6963000000000000000000000000') }]],
  [
    { snmpdest2: '10.0.0.9' },
    [
      { parameter: 'destinationType', value: bytes('02000500') },
      { parameter: 'destination', value: bytes('0200000a000009000000000000') },
    ],
  ],
])('settings %j', (settings, lan) => {
  expect(planSettings(settings as Record<string, string>).lan).toEqual(lan);
});

test('settings that are no LAN parameters', () => {
  const settings = { ip: '10.0.0.5', alert: 'on', hostname: 'bmc-1', userid: '3', username: 'fred', password: 'pw' };
  expect(planSettings(settings)).toEqual({
    lan: [],
    address: '10.0.0.5',
    alerting: true,
    hostname: 'bmc-1',
    account: { userId: 3, name: 'fred', password: 'pw' },
  });
});

test.each([
  [{ ntp: '10.0.0.1' }, /"ntp" cannot be set on an IPMI BMC; known: alert, backupgateway, community, garp/],
  [{ snmpdest16: '10.0.0.1' }, /"snmpdest16" cannot be set/],
  [{ __proto__x: '1' }, /cannot be set/],
  [{ ip: '10.0.0' }, /"10.0.0" of ip is not an IPv4 address/],
  [{ ip: '' }, /of ip is not an IPv4 address/],
  [{ netmask: '255.0.255.0' }, /not a netmask/],
  [{ gateway: 'router' }, /of gateway is not an IPv4 address/],
  [{ vlan: '4095' }, /from 1 to 4094, or off/],
  [{ garp: '200' }, /from 0 to 127/],
  [{ community: 'a community that is too long' }, /1 to 18 ASCII/],
  [{ community: 'a\nb' }, /1 to 18 ASCII/],
  [{ hostname: 'no blanks' }, /not a host name/],
  [{ alert: 'perhaps' }, /neither on nor off/],
  [{ username: 'fred' }, /give userid/],
  [{ userid: '64', username: 'fred' }, /from 1 to 63/],
  [{ userid: '3' }, /username, password or both/],
  [{ userid: '3', username: 'a name beyond sixteen' }, /1 to 16 ASCII/],
  [{ userid: '3', password: 'a password beyond twenty' }, /1 to 20 bytes/],
])('settings %j are refused before anything is sent', async (settings, sentence) => {
  const { serviceProcessor } = over(scriptedLink([]));
  await expect(serviceProcessor.set(settings as Record<string, string>, patient)).rejects.toThrow(sentence);
});

test('a refused password is not in the sentence', () => {
  const password = 'a password beyond twenty';
  expect(() => planSettings({ userid: '3', password })).toThrow(/^(?!.*beyond)/);
});

test.each([
  [{}, []],
  [{ address: '' }, [/attribute bmc/]],
  [{ address: '127.140.0.010' }, [/^its attribute bmc is wrong: "127\.140\.0\.010" is neither/]],
  [{ username: '', password: '' }, [/^it has no user name and no password for its BMC: set/]],
  [{ username: '' }, [/no user name for/]],
  [{ password: '' }, [/no password for/]],
  [{ username: 'a name beyond sixteen' }, [/at most 16 bytes/]],
  [{ password: 'ä'.repeat(11) }, [/at most 20 bytes/]],
])('an access with %j', (change, problems) => {
  const found = ipmiProblems({ ...access, ...change });
  expect(found).toHaveLength(problems.length);
  for (const [index, problem] of problems.entries()) expect(found[index]).toMatch(problem);
});

const channel = { request: '06 42 0e', data: '01040181f21b000000' };
const moves = [
  channel,
  { request: '0c 02 01 03 0000', data: '11 0a000001' },
  { request: '0c 02 01 04 0000', data: '11 01' },
  { request: '06 37', data: 'e97d11d676a27ba7 72a7 86ca5da5 37b4' },
  channel,
  { request: '0c 02 01 05 0000', data: '11 02bc00000001' },
  { request: '0c 01 01 00 01' },
  { request: '0c 01 01 03 0a000063' },
  { request: '0c 01 01 00 02' },
  { request: '0c 01 01 00 00' },
];

const own = { guid: 'D6117DE9-A276-A77B-72A7-86CA5DA537B4', mac: '02:bc:00:00:00:01' };
const nowhere = async () => {
  throw new Unreachable('nobody answers.');
};

test.each([
  ['with both', own],
  ['with its GUID alone', { ...own, mac: undefined }],
  ['with its MAC address alone', { ...own, guid: undefined }],
])('a new address counts when the BMC answers there %s', async (_how, identity) => {
  const asked: string[] = [];
  const link = scriptedLink(moves);
  const identityAt = async (address: string) => (asked.push(address) > 1 ? identity : await nowhere());
  await over(link, { identityAt }).serviceProcessor.set({ ip: '10.0.0.99' }, patient);
  expect(asked).toEqual(['10.0.0.99', '10.0.0.99']);
  expect(link.left()).toBe(0);
});

const told = 'its BMC was asked to use the address 10.0.0.99';
const other = 'D6117DE9-A276-A77B-72A7-000000000001';

test.each([
  ['no answer', nowhere, 'deadline', `${told} but does not answer there.`],
  [
    'a refusal',
    async () => {
      throw new Fault('invalid', 'the password is wrong.');
    },
    'deadline',
    `${told} but what answers there refuses: the password is wrong.`,
  ],
  [
    'another GUID',
    async () => ({ ...own, guid: other }),
    'invalid',
    `${told}, but another BMC answers there (GUID ${other} instead of ${own.guid}).`,
  ],
  [
    'another MAC address',
    async () => ({ guid: undefined, mac: '02:bc:00:00:00:02' }),
    'invalid',
    `another BMC answers there (MAC address 02:bc:00:00:00:02 instead of ${own.mac}).`,
  ],
  [
    'nothing to know it by',
    async () => ({ guid: undefined, mac: undefined }),
    'invalid',
    `another BMC answers there (without its GUID ${own.guid}).`,
  ],
])('a new address with %s is reported', async (_what, identityAt, kind, sentence) => {
  const { serviceProcessor } = over(scriptedLink(moves), { identityAt, addressTimeout: 50 });
  const error = await serviceProcessor.set({ ip: '10.0.0.99' }, patient).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ kind });
  expect((error as Fault).message).toContain(sentence);
  expect((error as Fault).message).toContain('It may still answer at 10.0.0.1.');
});

const lock = [{ request: '0c 01 01 00 01' }];
const unlock = [{ request: '0c 01 01 00 02' }, { request: '0c 01 01 00 00' }];
const setGateway = { request: '0c 01 01 0c 0a000001' };
const gateway = (data: string) => ({ request: '0c 02 01 0c 0000', data: `11 ${data}` });

test('a setting that shows after a moment counts', async () => {
  const steps = [channel, ...lock, setGateway, ...unlock, gateway('00000000'), gateway('0a000001')];
  const link = scriptedLink(steps);
  await over(link).serviceProcessor.set({ gateway: '10.0.0.1' }, patient);
  expect(link.left()).toBe(0);
});

test.each([
  ['the hardware does not have for reading', { request: '0c 02 01 0c 0000', code: 0x80 }],
  ['the hardware refuses to tell', { request: '0c 02 01 0c 0000', code: 0xff }],
])('a setting that %s is believed', async (_what, step) => {
  const link = scriptedLink([channel, ...lock, setGateway, ...unlock, step]);
  await over(link).serviceProcessor.set({ gateway: '10.0.0.1' }, patient);
  expect(link.left()).toBe(0);
});

test('hardware that falls silent after a setting is reported', async () => {
  const silent = { request: '0c 02 01 0c 0000', error: new Fault('deadline', 'no answer') };
  const { serviceProcessor } = over(scriptedLink([channel, ...lock, setGateway, ...unlock, silent]));
  const error = await serviceProcessor.set({ gateway: '10.0.0.1' }, patient).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ kind: 'deadline' });
  expect((error as Fault).message).toMatch(/accepted gateway "10.0.0.1" but has not answered since/);
});

test('settings the hardware does not have are called by names an administrator knows', async () => {
  const garp = scriptedLink([channel, ...lock, { request: '0c 01 01 0b 04', code: 0x80 }, unlock[1]!]);
  await expect(over(garp).serviceProcessor.set({ garp: '2' }, patient)).rejects.toThrow(
    'its BMC refused to set its interval of gratuitous ARPs: it does not have this setting (code 80h).',
  );
  const trap = scriptedLink([channel, ...lock, { request: '0c 01 01 12 01000500', code: 0x80 }, unlock[1]!]);
  await expect(over(trap).serviceProcessor.set({ snmpdest: '10.0.0.9' }, patient)).rejects.toThrow(
    'its BMC refused to set its SNMP destination: it does not have this setting (code 80h).',
  );
});

test('an address it has already, and DHCP', async () => {
  const same = scriptedLink([
    channel,
    { request: '0c 02 01 03 0000', data: '11 0a000001' },
    { request: '0c 02 01 04 0000', data: '11 01' },
  ]);
  await over(same).serviceProcessor.set({ ip: '10.0.0.1' }, patient);
  const dhcp = scriptedLink([
    channel,
    { request: '0c 02 01 04 0000', data: '11 01' },
    { request: '0c 01 01 00 01' },
    { request: '0c 01 01 04 02' },
    { request: '0c 01 01 00 02' },
    { request: '0c 01 01 00 00' },
    { request: '0c 02 01 04 0000', data: '11 02' },
  ]);
  await over(dhcp).serviceProcessor.set({ ip: 'dhcp' }, patient);
  expect([same.left(), dhcp.left()]).toEqual([0, 0]);
});

test('what a BMC has not is a clear error', async () => {
  const garp = scriptedLink([channel, { request: '0c 02 01 0b 0000', code: 0x80 }]);
  await expect(over(garp).serviceProcessor.get('garp', patient)).rejects.toThrow(
    'its BMC does not have the setting garp (interval of gratuitous ARPs).',
  );
  await expect(over(scriptedLink([])).serviceProcessor.get('ntp', patient)).rejects.toThrow(
    /"ntp" cannot be read from an IPMI BMC; known: ip, netmask/,
  );
});

test.each([
  ['garp', { request: '0c 02 01 0b 0000', data: '11 05' }, { 'Gratuitous ARP seconds': '2.5' }],
  ['vlan', { request: '0c 02 01 14 0000', data: '11 0000' }, { Message: ['BMC VLAN disabled'] }],
  ['vlan', { request: '0c 02 01 14 0000', data: '11 1180' }, { 'BMC VLAN ID': '17' }],
  [
    'snmpdest2',
    { request: '0c 02 01 13 0200', data: '11 02 00 00 0a000009 000000000000' },
    { 'SP SNMP Destination 2': '10.0.0.9' },
  ],
])('%s is read with its label', async (attribute, step, labels) => {
  expect(await over(scriptedLink([channel, step])).serviceProcessor.get(attribute, patient)).toEqual(labels);
});

test('all SNMP destinations', async () => {
  const destination = (number: number) => [
    channel,
    { request: `0c 02 01 13 0${number}00`, data: `11 0${number} 00 00 0a00000${number} 000000000000` },
  ];
  const link = scriptedLink([
    channel,
    { request: '0c 02 01 11 0000', data: '11 02' },
    ...destination(1),
    ...destination(2),
  ]);
  expect(await over(link).serviceProcessor.get('snmpdest', patient)).toEqual({
    'SP SNMP Destination 1': '10.0.0.1',
    'SP SNMP Destination 2': '10.0.0.2',
  });
});

test.each([
  ['without destinations', '00', { code: 0x80 }],
  ['that counts none but has one', '00', { data: '11 01 00 00 00000000 000000000000' }],
])('SNMP destinations of hardware %s', async (_what, count, step) => {
  const link = scriptedLink([
    channel,
    { request: '0c 02 01 11 0000', data: `11 ${count}` },
    channel,
    { request: '0c 02 01 13 0100', ...step },
  ]);
  const got = over(link).serviceProcessor.get('snmpdest', patient);
  if ('code' in step) await expect(got).rejects.toThrow('its BMC has no SNMP destination 1.');
  else expect(await got).toEqual({ 'SP SNMP Destination 1': '0.0.0.0' });
});

test('what the hardware does not tell of its energy is na, and cappingmaxmin stands for two', async () => {
  const link = scriptedLink([
    { request: '2c 03 dc 0000', code: 0x80, data: 'dc' },
    { request: '2c 10 dc 01 40 00 01', data: 'dc 00 00' },
  ]);
  const attributes = ['cappingmaxmin', 'cappingvalue', 'ambienttemp'];
  const read = await over(link).energy.read(attributes, patient);
  expect(read).toEqual({ cappingmax: 'na', cappingmin: 'na', cappingvalue: 'na', ambienttemp: 'na' });
});

const reading = { request: '2c 02 dc 01 00 00', data: 'dc 9a01 6400 f401 9001 00000000 e8030000 40' };

test('a BMC without a power limit shows what is consumed all the same', async () => {
  const noLimit = { request: '2c 03 dc 0000', code: 0xc1 };
  const noTemperature = { request: '2c 10 dc 01 40 00 01', code: 0xc1 };
  const link = scriptedLink([noLimit, noLimit, reading, reading, noTemperature]);
  expect(await over(link).energy.read([], patient)).toMatchObject({
    cappingstatus: 'na',
    cappingvalue: 'na',
    averageAC: '400 W',
    'Current Power': '410 Watts',
    ambienttemp: 'na',
  });
});

test('a BMC that reports no energy at all says so', async () => {
  const link = scriptedLink([
    { request: '2c 03 dc 0000', code: 0xc1 },
    { request: '2c 03 dc 0000', code: 0xc1 },
    { ...reading, code: 0xc1 },
  ]);
  await expect(over(link).energy.read([], patient)).rejects.toThrow(/has no DCMI/);
});

test('unknown energy attributes are refused with the known ones', async () => {
  const { energy } = over(scriptedLink([]));
  await expect(energy.read(['relhistogram'], patient)).rejects.toThrow(
    /known: cappingstatus, cappingvalue, cappingmin/,
  );
  await expect(energy.set('cappingmin', '5', patient)).rejects.toThrow(/cannot be set on IPMI/);
});

test('a limit the BMC changed is reported', async () => {
  const limit = (watts: string) => ({ request: '2c 03 dc 0000', data: `dc 0000 00 ${watts} e8030000 0000 0100` });
  const link = scriptedLink([
    limit('f401'),
    { request: '2c 04 dc 000000 00 fa00 e8030000 0000 0100', data: 'dc' },
    limit('2c01'),
  ]);
  await expect(over(link).energy.set('cappingvalue', '250', patient)).rejects.toThrow(/300 W instead of 250 W/);
});

const keep = { request: '00 08 03 08' };
const start = { request: '00 08 00 01' };
const finish = [{ request: '00 08 04 01 01' }, { request: '00 08 00 00' }];

test('a part of the inventory that cannot be read hides no other', async () => {
  const device = { request: '06 01', data: '20 01 02 15 02 bf 4d4f00 0201' };
  const link = scriptedLink([
    { request: '0a 10 00', data: '0800 00' },
    { request: '0a 11 00 0000 08', code: 0xd5 },
    device,
    { request: '06 37', code: 0xc1 },
    { request: '06 08', code: 0xc1 },
  ]);
  expect(await over(link).inventory.read(['serial', 'firm', 'guid'], patient)).toEqual({
    System: expect.stringMatching(/^cannot be read: its BMC refused Read FRU Data/),
    'BMC Firmware': '2.15',
    'UUID/GUID': expect.stringMatching(/^cannot be read: its BMC refused Get Device GUID/),
  });
});

test('a boot override whose valid bit is dropped is told, and that the device was taken', async () => {
  const flags = { request: '00 09 05 00 00', data: '01 05 0004000000' };
  const link = scriptedLink([keep, start, { request: '00 08 05 80 04 000000' }, ...finish, flags]);
  expect(await over(link).nextBoot.set('net', { persistent: false, mode: undefined }, patient)).toBe(
    'Network (its BMC took the device, but shows the override as inactive)',
  );
});

test.each([
  ['net', true, '8004000000', /for the next boot only/],
  ['net', false, '0000000000', /took the boot override Network but shows: boot override inactive/],
  ['hd', false, '8004000000', /Hard Drive but shows: Network/],
] as const)('%s (persistent: %s) that is not kept is an error', async (order, persistent, shown, sentence) => {
  const first = persistent ? 'c0' : '80';
  const second = order === 'net' ? '04' : '08';
  const link = scriptedLink([
    keep,
    start,
    { request: `00 08 05 ${first} ${second} 000000` },
    ...finish,
    { request: '00 09 05 00 00', data: `01 05 ${shown}` },
  ]);
  await expect(over(link).nextBoot.set(order, { persistent, mode: undefined }, patient)).rejects.toThrow(sentence);
});
