import { expect, test } from 'vitest';
import { decodeDeviceId, decodeGuid, getGuid } from '../../../../src/protocols/ipmi/commands/device.ts';
import { bytes, patient, scriptedLink } from './script.ts';

test('a device id as ipmi_sim answers it', () => {
  expect(decodeDeviceId(bytes('0003021502bf4d4f00020100000000'))).toEqual({
    deviceId: 0,
    firmware: '2.15',
    manufacturerId: 20301,
    productId: 258,
  });
});

test.each([
  ['20 81 83 04 51 00 020000 0100', '3.04'],
  ['20 01 01 99 02 02 7cA200 00FF', '1.99'],
])('the firmware of %s', (data, firmware) => {
  expect(decodeDeviceId(bytes(data)).firmware).toBe(firmware);
});

test('a GUID has its first three fields turned round, as SMBIOS does', () => {
  expect(decodeGuid(bytes('86ca5da537b487a872a76ba276d117e9'))).toBe('A55DCA86-B437-A887-72A7-6BA276D117E9');
});

test('the GUID of the device is asked for where the system has none', async () => {
  const link = scriptedLink([
    { request: '06 37', code: 0xc1 },
    { request: '06 08', data: 'fa6a29880d81831141e764bfa7b9df8b' },
  ]);
  expect(await getGuid(link, patient)).toBe('88296AFA-810D-1183-41E7-64BFA7B9DF8B');
});
