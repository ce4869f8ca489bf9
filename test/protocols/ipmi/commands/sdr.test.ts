import { expect, test } from 'vitest';
import { decodeSdrRecord } from '../../../../src/protocols/ipmi/commands/sdr-record.ts';
import { getSdrInfo, readSdrRecords, sdrCache } from '../../../../src/protocols/ipmi/commands/sdr.ts';
import { bytes, patient, scriptedLink, type Step } from './script.ts';

const temperature =
  '010051013520000137017f680101950a950a3f3f0001000001000000000007192805ff003c322d0002050202000000ca496e6c65742054656d70';
const supply = '070051022620000a0a016740086f0b000b000b00c000000100000000000000cb5053553120537461747573';

test('a full record as ipmi_sim keeps it', () => {
  expect(decodeSdrRecord(bytes(temperature))).toEqual([
    {
      kind: 'sensor',
      name: 'Inlet Temp',
      owner: 0x20,
      channel: 0,
      lun: 0,
      number: 1,
      type: 1,
      eventType: 1,
      units: { percent: false, rate: 0, relation: 'none', base: 1, modifier: 0 },
      conversion: { format: 'unsigned', linearization: 0, m: 1, b: 0, resultExponent: 0, bExponent: 0 },
      thresholds: { upperCritical: 50, upperWarning: 45, lowerCritical: 2, lowerWarning: 5 },
      readable: true,
    },
  ]);
});

test.each([
  ['compact', supply, [{ kind: 'sensor', name: 'PSU1 Status', number: 10, type: 8, eventType: 0x6f, readable: true }]],
  [
    'full, of a sensor with states,',
    temperature.replace('680101', '68086f').replace('0001000001', '0000000001'),
    [{ name: 'Inlet Temp', eventType: 0x6f, conversion: undefined }],
  ],
  [
    'full, of a sensor with states and a unit,',
    temperature.replace('680101', '680803'),
    [{ name: 'Inlet Temp', eventType: 0x03, conversion: { m: 1 } }],
  ],
  [
    'of a sensor behind another controller',
    temperature.replace('3520000137', '352c610137'),
    [{ owner: 0x2c, channel: 6, lun: 1 }],
  ],
  [
    'FRU locator',
    '0a0051111620008000001000070100cb4275696c74696e20465255',
    [{ kind: 'fru', name: 'Builtin FRU', fruId: 0, logical: true, entity: 7 }],
  ],
  ['a record that is not needed, of a controller', '09005112112000009f000000070100c64c6162424d43', []],
  [
    'event-only',
    '0b00 5103 10 2000 0c 07 01 12 6f 01 00 00 00 c3 455654',
    [{ kind: 'sensor', name: 'EVT', number: 12, type: 0x12, eventType: 0x6f, readable: false }],
  ],
  [
    'compact, shared, numbers',
    supply.replace('c000000100', 'c000000303'),
    [
      { name: 'PSU1 Status3', number: 10 },
      { name: 'PSU1 Status4', number: 11 },
      { name: 'PSU1 Status5', number: 12 },
    ],
  ],
  [
    'compact, shared, letters',
    supply.replace('c000000100', 'c000001200'),
    [
      { name: 'PSU1 StatusA', number: 10 },
      { name: 'PSU1 StatusB', number: 11 },
    ],
  ],
  ['OEM', '0c0051c0050000000000', []],
  ['cut short', temperature.slice(0, 60), []],
])('%s record', (_, record, wanted) => {
  expect(decodeSdrRecord(bytes(record))).toMatchObject(wanted);
});

const info = (stamp: string): Step => ({ request: '0a 20', data: `51 0100 feff ${stamp} 00000000 02` });

/** The steps of reading one record of 43 bytes, the last of the repository. */
const readSupply: readonly Step[] = [
  { request: '0a 22', data: '0100' },
  { request: '0a 23 0100 0000 00 05', data: `ffff ${supply.slice(0, 10)}` },
  { request: '0a 23 0100 0000 05 26', data: `ffff ${supply.slice(10)}` },
];

test('a record is read header first, then the rest', async () => {
  const link = scriptedLink([info('01020304'), ...readSupply]);
  const { source } = await getSdrInfo(link, patient);
  expect(await readSdrRecords(link, source, patient)).toEqual([bytes(supply)]);
});

test('sizes shrink until the hardware can do them, and a lost reservation is renewed', async () => {
  const link = scriptedLink([
    info('01020304'),
    { request: '0a 22', data: '0100' },
    { request: '0a 23 0100 0000 00 05', data: `ffff ${supply.slice(0, 10)}` },
    { request: '0a 23 0100 0000 05 26', code: 0xca },
    { request: '0a 23 0100 0000 05 20', code: 0xff },
    { request: '0a 23 0100 0000 05 10', data: `ffff ${supply.slice(10, 42)}` },
    { request: '0a 23 0100 0000 15 10', code: 0xc5 },
    { request: '0a 22', data: '0200' },
    { request: '0a 23 0200 0000 15 10', data: `ffff ${supply.slice(42, 74)}` },
    { request: '0a 23 0200 0000 25 06', data: `ffff ${supply.slice(74)}` },
  ]);
  const { source } = await getSdrInfo(link, patient);
  expect(await readSdrRecords(link, source, patient)).toEqual([bytes(supply)]);
  expect(link.left()).toBe(0);
});

test('a controller without a repository is asked for its device records', async () => {
  const link = scriptedLink([
    { request: '0a 20', code: 0xc1 },
    { request: '04 20', data: '0501' },
    { request: '04 22', data: '0100' },
    { request: '04 21 0100 0000 00 05', data: 'ffff 0100511200' },
  ]);
  const { source, stamp } = await getSdrInfo(link, patient);
  expect(stamp).toBe('5.1.0');
  expect(await readSdrRecords(link, source, patient)).toEqual([bytes('0100511200')]);
});

test('a list that turns back on itself ends', async () => {
  const link = scriptedLink([
    info('01020304'),
    { request: '0a 22', data: '0100' },
    { request: '0a 23 0100 0000 00 05', data: '0100 0100511200' },
    { request: '0a 23 0100 0100 00 05', data: '0000 0100511200' },
  ]);
  const { source } = await getSdrInfo(link, patient);
  expect(await readSdrRecords(link, source, patient)).toHaveLength(2);
});

test('records are read once while their stamp stays, and again when it changes', async () => {
  const cache = sdrCache();
  const link = scriptedLink([info('01020304'), ...readSupply, info('01020304'), info('01020305'), ...readSupply]);
  const first = await cache.records('bmc', link, patient);
  expect(await cache.records('bmc', link, patient)).toBe(first);
  expect(await cache.records('bmc', link, patient)).toEqual(first);
  expect(link.left()).toBe(0);
});

test('equal records of two BMCs are kept once', async () => {
  const cache = sdrCache();
  const read = () => cache.records(String(Math.random()), scriptedLink([info('01020304'), ...readSupply]), patient);
  expect(await read()).toBe(await read());
});

test('records that never stand still are given up', async () => {
  const renewals = Array.from({ length: 21 }, (): Step[] => [
    { request: '0a 22', data: '0100' },
    { request: '0a 23 0100 0000 00 05', code: 0xc5 },
  ]);
  const link = scriptedLink([info('01020304'), ...renewals.flat()]);
  const { source } = await getSdrInfo(link, patient);
  await expect(readSdrRecords(link, source, patient)).rejects.toThrow(/change faster/);
});

test('machines with equal records share them', async () => {
  const cache = sdrCache();
  const read = (key: string) => cache.records(key, scriptedLink([info('01020304'), ...readSupply]), patient);
  const [first, second] = [await read('a'), await read('b')];
  expect(first).toHaveLength(1);
  expect(second).toBe(first);
});
