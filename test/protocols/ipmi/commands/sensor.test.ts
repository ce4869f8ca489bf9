import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { limitName, sensorTypeName, stateName, stateNames } from '../../../../src/protocols/ipmi/commands/sel-text.ts';
import {
  type Conversion,
  decodeFactors,
  decodeSdrRecord,
  type SensorRecord,
  type SensorUnits,
} from '../../../../src/protocols/ipmi/commands/sdr-record.ts';
import {
  convert,
  decodeReading,
  Sensors,
  unitText,
  valueText,
} from '../../../../src/protocols/ipmi/commands/sensor.ts';
import { bytes, patient, scriptedLink } from './script.ts';

const linear: Conversion = { format: 'unsigned', linearization: 0, m: 1, b: 0, resultExponent: 0, bExponent: 0 };
const plain: SensorUnits = { percent: false, rate: 0, relation: 'none', base: 0, modifier: 0 };

test.each<[string, number, Partial<Conversion>, number | undefined]>([
  ['as it is', 20, {}, 20],
  ['a factor and an exponent', 199, { m: 6, resultExponent: -2 }, 11.94],
  ['a factor', 100, { m: 60 }, 6000],
  ['an offset with its own exponent', 10, { m: 2, b: 5, bExponent: 1 }, 70],
  ['a negative factor', 10, { m: -2, b: 100 }, 80],
  ['two complement', 0xec, { format: 'twos' }, -20],
  ['one complement', 0xeb, { format: 'ones' }, -20],
  ['one complement, minus zero', 0xff, { format: 'ones' }, -0],
  ['ln', 1, { linearization: 1 }, 0],
  ['log10', 100, { linearization: 2 }, 2],
  ['log2', 8, { linearization: 3 }, 3],
  ['e^x', 0, { linearization: 4 }, 1],
  ['10^x', 2, { linearization: 5 }, 100],
  ['2^x', 4, { linearization: 6 }, 16],
  ['1/x', 4, { linearization: 7 }, 0.25],
  ['x^2', 5, { linearization: 8 }, 25],
  ['x^3', 3, { linearization: 9 }, 27],
  ['root', 16, { linearization: 10 }, 4],
  ['cube root', 27, { linearization: 11 }, 3],
  ['1/0', 0, { linearization: 7 }, undefined],
  ['log10 of 0', 0, { linearization: 2 }, undefined],
])('conversion: %s', (_, raw, conversion, value) => {
  const got = convert(raw, { ...linear, ...conversion });
  if (value === undefined) expect(got).toBeUndefined();
  else expect(got).toBeCloseTo(value, 9);
});

test.each([
  ['01 00 00 00 00 00', { m: 1, b: 0, resultExponent: 0, bExponent: 0 }],
  ['06 00 00 00 00 e0', { m: 6, b: 0, resultExponent: -2, bExponent: 0 }],
  ['ff c0 00 80 00 1f', { m: -1, b: -512, resultExponent: 1, bExponent: -1 }],
  ['ff 40 ff 40 3f 78', { m: 511, b: 511, resultExponent: 7, bExponent: -8 }],
])('factors %s', (data, factors) => {
  expect(decodeFactors(bytes(data))).toEqual(factors);
});

test.each<[number, Partial<SensorUnits>, string]>([
  [20, { base: 1 }, '20 C (68 F)'],
  [97, { base: 1 }, '97 C (207 F)'],
  [-5, { base: 1 }, '-5 C (23 F)'],
  [212, { base: 2 }, '212 F (100 C)'],
  [6000, { base: 18 }, '6000 RPM'],
  [11.94, { base: 4 }, '11.94 Volts'],
  [3.2999999, { base: 4 }, '3.3 Volts'],
  [12, { base: 4 }, '12 Volts'],
  [1.5, { base: 5 }, '1.5 Amps'],
  [160, { base: 6 }, '160 Watts (546 BTUs/hr)'],
  [45, { percent: true }, '45 %'],
  [7, {}, '7'],
  [7, { base: 200 }, '7 unit 200'],
])('%s in unit %j is printed as %s', (value, units, text) => {
  expect(valueText(value, { ...plain, ...units })).toBe(text);
});

test.each<[Partial<SensorUnits>, string]>([
  [{ base: 6, relation: 'times', modifier: 24 }, 'Watts*hour'],
  [{ base: 17, relation: 'per', modifier: 23 }, 'CFM/minute'],
  [{ base: 90, rate: 5 }, 'uncorrectable error per hour'],
  [{ base: 92 }, 'grams'],
])('unit %j is %s', (units, text) => {
  expect(unitText({ ...plain, ...units })).toBe(text);
});

const [rail] = decodeSdrRecord(
  bytes(
    '030051013320000307017f680201950a950a3f3f000400000600000000e007c8d7b9ff00e6e1dcaaafb40202000000c8313256205261696c',
  ),
) as [SensorRecord];

test.each([
  ['14c00000', { raw: 0x14, states: 0 }],
  ['00c00100', { raw: 0, states: 1 }],
  ['00c00180', { raw: 0, states: 1 }],
  ['14e00000', undefined],
  ['1480', undefined],
  ['14', undefined],
  ['1440', { raw: 0x14, states: 0 }],
])('reading %s', (data, reading) => {
  expect(decodeReading(bytes(data))).toEqual(reading);
});

test.each([0xcb, 0xff, 0xc3, 0xd3, 0x80, 0xd1])('a sensor that answers with code %i has no value', async (code) => {
  const sensors = new Sensors(scriptedLink([{ request: '04 2d 03', code }]));
  expect(await sensors.value(rail, patient)).toBeUndefined();
});

test('an account that may read no sensor is told so', async () => {
  const step = { request: '04 2d 03', code: 0xd4 };
  await expect(new Sensors(scriptedLink([step, step, step])).value(rail, patient)).rejects.toThrow(/12V Rail/);
});

test('a sensor of another controller is asked for through its bridge, on its logical unit', async () => {
  const link = scriptedLink([{ request: '04 2d 03', data: 'c7c00000' }]);
  expect(await new Sensors(link).value({ ...rail, owner: 0x2c, channel: 6, lun: 1 }, patient)).toMatchObject({
    value: expect.closeTo(11.94),
  });
  expect(link.sent[0]).toMatchObject({ lun: 1, bridge: { address: 0x2c, channel: 6 } });
});

test('a controller that is not there is asked once, and software never', async () => {
  const sensors = new Sensors(scriptedLink([{ request: '04 2d 03', code: 0xd3 }]));
  for (let sensor = 0; sensor < 3; sensor++) {
    expect(await sensors.value({ ...rail, owner: 0x2c }, patient)).toBeUndefined();
  }
  expect(await sensors.reading({ ...rail, owner: 0x41 }, patient)).toBeUndefined();
});

test.each([
  ['00', 0],
  ['18', 0b011000],
])('limits %s beside a value', async (states, limits) => {
  const sensors = new Sensors(scriptedLink([{ request: '04 2d 03', data: `c7c0${states}00` }]));
  expect(await sensors.value(rail, patient)).toMatchObject({ limits });
});

test.each([
  [0, undefined],
  [0b000001, 'Lower Non-critical'],
  [0b011000, 'Upper Critical'],
  [0b000111, 'Lower Non-recoverable'],
])('limits %i are named by the most severe', (states, name) => {
  expect(limitName(states)).toBe(name);
});

test('a non-linear sensor is converted with the factors of its reading, and has no value without them', async () => {
  const sensor = { ...rail, conversion: { ...linear, linearization: 0x70 } };
  const reading = { request: '04 2d 03', data: '0ac00000' };
  const factors = { request: '04 23 03 0a', data: '0b 02 00 05 00 00 00' };
  expect(await new Sensors(scriptedLink([reading, factors])).value(sensor, patient)).toMatchObject({ value: 25 });
  const refused = { request: '04 23 03 0a', code: 0xc1 };
  expect(await new Sensors(scriptedLink([reading, refused])).value(sensor, patient)).toBeUndefined();
});

test.each([
  [0x08, 0x6f, 0, 'Presence Detected'],
  [0x08, 0x6f, 3, 'Power Supply Input Lost (AC/DC)'],
  [0x01, 0x01, 9, 'Upper Critical - going high'],
  [0x02, 0x01, 2, 'Lower Critical - going low'],
  [0x07, 0x6f, 0, 'IERR'],
  [0x0c, 0x6f, 1, 'Uncorrectable ECC'],
  [0x0d, 0x6f, 1, 'Drive Fault'],
  [0x10, 0x6f, 2, 'Log Area Reset/Cleared'],
  [0x23, 0x6f, 8, 'Timer Interrupt'],
  [0x23, 0x6f, 5, 'State 5'],
  [0x21, 0x08, 1, 'Device Present'],
  [0x04, 0x0b, 1, 'Redundancy Lost'],
  [0xc0, 0x6f, 3, 'State 3'],
  [0x04, 0x70, 3, 'State 3'],
])('sensor type %i, event type %i, state %i is %s', (sensorType, eventType, offset, name) => {
  expect(stateName(sensorType, eventType, offset)).toBe(name);
});

test('several states at once', () => {
  expect(stateNames(0x08, 0x6f, 0b11)).toEqual(['Presence Detected', 'Power Supply Failure Detected']);
  expect(stateNames(0x08, 0x6f, 0)).toEqual([]);
});

test.each([
  [0x01, 'Temperature'],
  [0x08, 'Power Supply'],
  [0x0c, 'Memory'],
  [0x12, 'System Event'],
  [0x23, 'Watchdog 2'],
  [0x2c, 'FRU State'],
  [0x2d, 'Sensor Type 45'],
  [0xc3, 'OEM Sensor Type 195'],
])('sensor type %i is %s', (type, name) => {
  expect(sensorTypeName(type)).toBe(name);
});

test('every conversion has a finite value or none', () => {
  const conversion = fc.record({
    format: fc.constantFrom('unsigned', 'ones', 'twos', 'none'),
    linearization: fc.integer({ min: 0, max: 0x7f }),
    m: fc.integer({ min: -512, max: 511 }),
    b: fc.integer({ min: -512, max: 511 }),
    resultExponent: fc.integer({ min: -8, max: 7 }),
    bExponent: fc.integer({ min: -8, max: 7 }),
  });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 255 }), conversion, (raw, factors) => {
      const value = convert(raw, factors);
      expect(value === undefined || Number.isFinite(value)).toBe(true);
    }),
  );
});
