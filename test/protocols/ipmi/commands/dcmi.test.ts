import { expect, test } from 'vitest';
import {
  activatePowerLimit,
  decodePowerLimit,
  decodePowerReading,
  decodeTemperatures,
  encodePowerLimit,
  getControllerId,
  getPowerLimit,
  getPowerReading,
  setControllerId,
  setPowerLimit,
} from '../../../../src/protocols/ipmi/commands/dcmi.ts';
import { bytes, patient, scriptedLink } from './script.ts';

test('a power reading as ipmi_sim with DCMI answers them', () => {
  expect(decodePowerReading(bytes('08000000170008009924f96ae803000040'))).toEqual({
    current: 8,
    minimum: 0,
    maximum: 23,
    average: 8,
    time: 0x6af92499,
    period: 1000,
    active: true,
  });
});

const limit = { watts: 500, exceptionAction: 0x11, correctionTime: 70_000, samplingPeriod: 30 };

test('a power limit reads as it is written, apart from the reserved bytes before it', () => {
  const written = Buffer.from(encodePowerLimit(limit));
  expect(written).toEqual(bytes('000000 11 f401 70110100 0000 1e00'));
  expect(decodePowerLimit(written.subarray(1))).toEqual(limit);
});

test('code 80h means a limit that is not active, with or without its values', async () => {
  const request = '2c 03 dc 0000';
  const values = 'dc 0000 00 f401 e8030000 0000 0100';
  const kept = { watts: 500, exceptionAction: 0, correctionTime: 1000, samplingPeriod: 1 };
  expect(await getPowerLimit(scriptedLink([{ request, code: 0x80, data: values }]), patient)).toEqual({
    active: false,
    limit: kept,
  });
  expect(await getPowerLimit(scriptedLink([{ request, data: values }]), patient)).toEqual({
    active: true,
    limit: kept,
  });
  expect(await getPowerLimit(scriptedLink([{ request, code: 0x80 }]), patient)).toEqual({
    active: false,
    limit: undefined,
  });
});

test('a limit out of range is refused in words', async () => {
  const request = `2c 04 dc ${Buffer.from(encodePowerLimit(limit)).toString('hex')}`;
  const link = scriptedLink([{ request, code: 0x84 }]);
  await expect(setPowerLimit(link, limit, patient)).rejects.toThrow(
    'refused a power limit of 500 W: the limit is out of the range it can keep (code 84h).',
  );
});

test('activation', async () => {
  const link = scriptedLink([
    { request: '2c 05 dc 010000', data: 'dc' },
    { request: '2c 05 dc 000000', data: 'dc' },
  ]);
  await activatePowerLimit(link, true, patient);
  await activatePowerLimit(link, false, patient);
  expect(link.left()).toBe(0);
});

test.each([
  [{ request: '2c 02 dc 010000', code: 0xc1 }, 'invalid'],
  [{ request: '2c 02 dc 010000', data: 'dd 0800' }, 'garbled'],
  [{ request: '2c 02 dc 010000', data: 'dc 0800' }, 'garbled'],
])('%j is a clear error', async (step, kind) => {
  await expect(getPowerReading(scriptedLink([step]), patient)).rejects.toMatchObject({ kind });
});

test.each([
  ['01 01 16 01', [22]],
  ['02 02 16 01 85 02', [22, -5]],
  ['09 ff 16 01', [22]],
  ['00 00', []],
])('temperatures %s', (data, degrees) => {
  expect(decodeTemperatures(bytes(data))).toEqual(degrees);
});

const text = (part: string) => Buffer.from(part, 'latin1').toString('hex');

test('a host name of more than one piece', async () => {
  const link = scriptedLink([
    { request: '2c 09 dc 00 10', data: `dc 14 ${text('bmc.rack1.cluste')}` },
    { request: '2c 09 dc 10 10', data: `dc 14 ${text('r-1')}00` },
  ]);
  expect(await getControllerId(link, patient)).toBe('bmc.rack1.cluster-1');
});

test('a host name is written in pieces, with the zero at its end', async () => {
  const link = scriptedLink([
    { request: `2c 0a dc 00 10 ${text('bmc.rack1.cluste')}`, data: 'dc 10' },
    { request: `2c 0a dc 10 04 ${text('r-1')}00`, data: 'dc 14' },
  ]);
  await setControllerId(link, 'bmc.rack1.cluster-1', patient);
  expect(link.left()).toBe(0);
});
