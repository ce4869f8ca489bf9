import { expect, test } from 'vitest';
import { Fault } from '../../../../src/core/errors.ts';
import {
  decodeArpInterval,
  decodeCommunity,
  decodeDestination,
  decodeVlan,
  encodeArpInterval,
  encodeCommunity,
  encodeDestination,
  encodeIpv4,
  encodeVlan,
  getAlerting,
  getLanParameter,
  isNetmask,
  lanChannel,
  moveLanAddress,
  setAlerting,
  setLanParameters,
} from '../../../../src/protocols/ipmi/commands/lan.ts';
import {
  decodeUserAccess,
  decodeUserName,
  enableUser,
  setUserAccess,
  setUserName,
  setUserPassword,
} from '../../../../src/protocols/ipmi/commands/users.ts';
import { bytes, patient, scriptedLink } from './script.ts';

test.each([
  ['255.255.255.0', true],
  ['255.0.0.0', true],
  ['0.0.0.0', true],
  ['255.255.255.255', true],
  ['255.0.255.0', false],
  ['0.0.0.255', false],
  ['255.255.255', false],
])('%s is a netmask: %s', (text, is) => {
  expect(isNetmask(text)).toBe(is);
});

test('values of parameters', () => {
  expect(encodeIpv4('127.30.0.1')).toEqual(bytes('7f1e0001'));
  expect(encodeIpv4('127.30.0.256')).toBeUndefined();
  expect(decodeVlan(bytes('1180'))).toBe(17);
  expect(decodeVlan(bytes('1100'))).toBeUndefined();
  expect(encodeVlan(4094)).toEqual(bytes('fe8f'));
  expect(encodeVlan(undefined)).toEqual(bytes('0000'));
  expect(decodeCommunity(bytes('7075626c696300000000'))).toBe('public');
  expect(decodeCommunity(encodeCommunity('eighteen-character'))).toBe('eighteen-character');
  expect(decodeArpInterval(encodeArpInterval(2.5))).toBe(2.5);
  expect(decodeDestination(encodeDestination(1, bytes('0a000001')))).toBe('10.0.0.1');
});

test('the channel in use, or the usual one', async () => {
  expect(await lanChannel(scriptedLink([{ request: '06 42 0e', data: '02040181f21b000000' }]), patient)).toBe(2);
  expect(await lanChannel(scriptedLink([{ request: '06 42 0e', code: 0xc1 }]), patient)).toBe(1);
});

test('a parameter the hardware has not is no error', async () => {
  const link = scriptedLink([
    { request: '0c 02 01 0b 00 00', code: 0x80 },
    { request: '0c 02 01 03 00 00', data: '11 7f1e0001' },
  ]);
  expect(await getLanParameter(link, 1, 'arpInterval', patient)).toBeUndefined();
  expect(await getLanParameter(link, 1, 'address', patient)).toEqual(bytes('7f1e0001'));
});

test('parameters are set between the marks, as administrator', async () => {
  const link = scriptedLink([
    { request: '0c 01 01 00 01' },
    { request: '0c 01 01 06 ffff0000' },
    { request: '0c 01 01 0c 7f1e00fe' },
    { request: '0c 01 01 00 02' },
    { request: '0c 01 01 00 00' },
  ]);
  const settings = [
    { parameter: 'netmask', value: bytes('ffff0000') },
    { parameter: 'gateway', value: bytes('7f1e00fe') },
  ] as const;
  await setLanParameters(link, 1, settings, patient);
  expect(link.left()).toBe(0);
  expect(link.sent.every(({ privilege }) => privilege === 'administrator')).toBe(true);
});

test('a refused parameter ends the setting and lets the lock go', async () => {
  const link = scriptedLink([
    { request: '0c 01 01 00 01' },
    { request: '0c 01 01 06 ffff0000', code: 0x82 },
    { request: '0c 01 01 00 00' },
  ]);
  const settings = [{ parameter: 'netmask', value: bytes('ffff0000') }] as const;
  await expect(setLanParameters(link, 1, settings, patient)).rejects.toThrow(/netmask: this setting can only be read/);
  expect(link.left()).toBe(0);
});

test('an address that takes the answer with it is no failure', async () => {
  const link = scriptedLink([
    { request: '0c 01 01 00 01' },
    { request: '0c 01 01 03 0a000001', error: new Fault('deadline', 'no answer') },
  ]);
  await moveLanAddress(link, 1, bytes('0a000001'), patient);
  expect(link.sent[1]?.repeatable).toBe(false);
});

test('users', async () => {
  const full = { messaging: true, privilege: 4, enabled: undefined, places: 63 };
  expect(decodeUserAccess(bytes('3f030014'))).toEqual(full);
  expect(decodeUserAccess(bytes('3f430014'))).toEqual({ ...full, enabled: true });
  expect(decodeUserAccess(bytes('0f830002'))).toEqual({ messaging: false, privilege: 2, enabled: false, places: 15 });
  expect(decodeUserName(bytes('61646d696e0000000000000000000000'))).toBe('admin');
  const link = scriptedLink([
    { request: '06 45 05 66726564 000000000000000000000000' },
    { request: '06 47 85 02 7077 000000000000000000000000000000000000' },
    { request: '06 43 b1 05 04 00' },
    { request: '06 47 05 01 00000000000000000000000000000000' },
  ]);
  await setUserName(link, 5, 'fred', patient);
  await setUserPassword(link, 5, 'pw', patient);
  await setUserAccess(link, 1, 5, 4, patient);
  await enableUser(link, 5, patient);
  expect(link.left()).toBe(0);
});

test('a refused password is not repeated in the sentence', async () => {
  const link = scriptedLink([{ request: '06 47 85 02 7077 000000000000000000000000000000000000', code: 0x80 }]);
  const error = await setUserPassword(link, 5, 'pw', patient).catch((thrown: Error) => thrown.message);
  expect(error).toBe('its BMC refused the password of user 5: it does not accept this password (code 80h).');
});

test('alerts are on when filter, action and policy are', async () => {
  const answers = (control: string, actions: string, policy: string) =>
    scriptedLink([
      { request: '04 13 01 00 00', data: `11 ${control}` },
      { request: '04 13 02 00 00', data: `11 ${actions}` },
      { request: '04 13 09 01 00', data: `11 ${policy}` },
    ]);
  expect(await getAlerting(answers('01', '01', '01181100'), patient)).toBe(true);
  expect(await getAlerting(answers('00', '01', '01181100'), patient)).toBe(false);
  expect(await getAlerting(answers('01', '00', '01181100'), patient)).toBe(false);
  expect(await getAlerting(answers('01', '01', '01101100'), patient)).toBe(false);
});

test('alerts switched on make a policy and keep other actions', async () => {
  const link = scriptedLink([
    { request: '04 13 09 01 00', data: '11 01000000' },
    { request: '04 13 01 00 00', data: '11 02' },
    { request: '04 13 02 00 00', data: '11 04' },
    { request: '04 12 09 01 18 11 00' },
    { request: '04 12 02 05' },
    { request: '04 12 01 03' },
  ]);
  await setAlerting(link, 1, true, patient);
  expect(link.left()).toBe(0);
});

test('alerts switched off take only the policy out of force', async () => {
  const link = scriptedLink([{ request: '04 13 09 01 00', data: '11 01182100' }, { request: '04 12 09 01 10 21 00' }]);
  await setAlerting(link, 1, false, patient);
  expect(link.left()).toBe(0);
});
