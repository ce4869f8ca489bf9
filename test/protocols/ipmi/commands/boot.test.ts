import { expect, test } from 'vitest';
import {
  bootDevices,
  decodeBootFlags,
  encodeBootFlags,
  getBootFlags,
  setBootFlags,
  type BootDevice,
} from '../../../../src/protocols/ipmi/commands/chassis.ts';
import { bytes, patient, scriptedLink } from './script.ts';

test.each([
  ['0000000000', { valid: false, persistent: false, device: 'none' }],
  ['8004000000', { valid: true, persistent: false, device: 'network' }],
  ['c008000000', { valid: true, persistent: true, device: 'disk' }],
  ['e014000000', { valid: true, persistent: true, device: 'cd' }],
  ['803c000000', { valid: true, device: 'floppy' }],
  ['8018000000', { valid: true, device: 'setup' }],
  ['8028000000', { valid: true, device: undefined }],
])('boot flags %s', (data, flags) => {
  expect(decodeBootFlags(bytes(data))).toMatchObject(flags);
});

test.each(Object.keys(bootDevices) as BootDevice[])('flags for %s read back as written', (device) => {
  for (const persistent of [true, false]) {
    for (const efi of [true, false]) {
      const written = encodeBootFlags({ device, persistent, efi });
      expect(decodeBootFlags(written)).toEqual({ valid: true, device, persistent });
      expect((written[0]! & 0x20) !== 0).toBe(efi);
    }
  }
});

test('the 60 s clearing is switched off first, and the flags are set between the marks', async () => {
  const link = scriptedLink([
    { request: '00 08 03 08' },
    { request: '00 08 00 01' },
    { request: '00 08 05 e0 04 00 00 00' },
    { request: '00 08 04 01 01' },
    { request: '00 08 00 00' },
  ]);
  await setBootFlags(link, { device: 'network', persistent: true, efi: true }, patient);
  expect(link.left()).toBe(0);
});

test('hardware without lock, acknowledgement and parameter 3 takes the flags all the same', async () => {
  const link = scriptedLink([
    { request: '00 08 03 08', code: 0x80 },
    { request: '00 08 00 01', code: 0x80 },
    { request: '00 08 05 00 00 00 00 00' },
    { request: '00 08 04 01 01', code: 0x80 },
    { request: '00 08 00 00', code: 0x80 },
  ]);
  await setBootFlags(link, undefined, patient);
  expect(link.left()).toBe(0);
});

test('refused flags are an error, and the lock is let go', async () => {
  const link = scriptedLink([
    { request: '00 08 03 08' },
    { request: '00 08 00 01' },
    { request: '00 08 05 80 3c 00 00 00', code: 0xff },
    { request: '00 08 00 00' },
  ]);
  const override = { device: 'floppy', persistent: false, efi: false } as const;
  await expect(setBootFlags(link, override, patient)).rejects.toThrow(/refused the boot device/);
  expect(link.left()).toBe(0);
});

test('an answer about another parameter is not taken for the flags', async () => {
  const link = scriptedLink([{ request: '00 09 05 00 00', data: '01 04 8004000000' }]);
  await expect(getBootFlags(link, patient)).rejects.toMatchObject({ kind: 'garbled' });
});
