import { expect, test } from 'vitest';
import { decodeDeviceId, decodeGuid, decodeSelfTest, getGuid } from '../../../../src/protocols/ipmi/commands/device.ts';
import { bytes, patient, scriptedLink } from './script.ts';

test('a device id as ipmi_sim answers it', () => {
  expect(decodeDeviceId(bytes('0003021502bf4d4f00020100000000'))).toEqual({
    deviceId: 0,
    deviceRevision: 3,
    providesDeviceSdrs: false,
    available: true,
    firmware: '2.15',
    ipmiVersion: '2.0',
    hasSdrRepository: true,
    manufacturerId: 20301,
    productId: 258,
  });
});

test.each([
  ['20 81 83 04 51 00 020000 0100', '3.04', '1.5', false],
  ['20 01 01 99 02 02 7cA200 00FF', '1.99', '2.0', true],
])('firmware and version of %s', (data, firmware, version, available) => {
  const id = decodeDeviceId(bytes(data));
  expect([id.firmware, id.ipmiVersion, id.available]).toEqual([firmware, version, available]);
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

test.each([
  ['5500', 'passed'],
  ['5600', 'not implemented'],
  ['5701', 'corrupted or inaccessible data or devices'],
  ['42ff', 'device-specific failure 42h ffh'],
])('self test %s is %s', (data, text) => {
  expect(decodeSelfTest(bytes(data))).toBe(text);
});
