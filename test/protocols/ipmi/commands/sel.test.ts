import { expect, test } from 'vitest';
import { Fault } from '../../../../src/core/errors.ts';
import { decodeSdrRecord } from '../../../../src/protocols/ipmi/commands/sdr-record.ts';
import { selText, timeText } from '../../../../src/protocols/ipmi/commands/sel-text.ts';
import { clearSel, decodeSelEntry, readSel } from '../../../../src/protocols/ipmi/commands/sel.ts';
import { bytes, patient, scriptedLink, type Step } from './script.ts';

const records = [
  '020051013420000203017f680101950a950a3f3f000100000100000000000732550aff00695f5a0002050202000000c9435055312054656d70',
  '070051022620000a0a016740086f0b000b000b00c000000100000000000000cb5053553120537461747573',
].flatMap((record) => decodeSdrRecord(bytes(record)));

test.each([
  ['0100 02 59070000 2000 04 080a 6f 00ffff', 'BMC Uptime   1881 s Power Supply, Presence Detected (PSU1 Status)'],
  [
    '0200 02 59070000 2000 04 0102 01 59615f',
    'BMC Uptime   1881 s Temperature, Upper Critical - going high (CPU1 Temp reading 97 C (207 F) with threshold 95 C (203 F))',
  ],
  [
    '0200 02 59070000 2000 04 0102 81 59555f',
    'BMC Uptime   1881 s Temperature, Upper Critical - going high (CPU1 Temp reading 85 C (185 F) with threshold 95 C (203 F)) - Recovered',
  ],
  [
    '0200 02 59070000 2000 04 0102 01 09ffff',
    'BMC Uptime   1881 s Temperature, Upper Critical - going high (CPU1 Temp)',
  ],
  [
    '0100 02 07000000 2000 04 0903 ef 00ffff',
    'BMC Uptime      7 s Power Unit, Power Off/Power Down (Sensor 3) - Recovered',
  ],
  ['0100 02 ffffffff 2000 04 c203 6f 05ffff', 'Unknown time OEM Sensor Type 194, State 5 (Sensor 3)'],
  ['0100 02 07000000 2000 04 0c03 6f 30ff07', 'BMC Uptime      7 s Memory, Correctable ECC, DIMM 7 (Sensor 3)'],
  [
    '0100 02 07000000 2000 04 0f03 6f c201ff',
    'BMC Uptime      7 s System Firmware Progress, System Firmware Progress, Memory initialization (Sensor 3)',
  ],
  [
    '0100 02 07000000 2000 04 0f03 6f c00cff',
    'BMC Uptime      7 s System Firmware Progress, System Firmware Error, CPU voltage mismatch (Sensor 3)',
  ],
  [
    '0100 02 07000000 2000 04 0903 6f a0a101',
    'BMC Uptime      7 s Power Unit, Power Off/Power Down, data 2 A1h, data 3 01h (Sensor 3)',
  ],
  ['0300 c1 07000000 570100 0a0b0c0d0e0f', 'BMC Uptime      7 s OEM record C1 of manufacturer 343, 0A0B0C0D0E0F'],
  ['0400 e0 0102030405060708090a0b0c0d', 'Unknown time OEM record E0, 0102030405060708090A0B0C0D'],
])('entry %s', (entry, text) => {
  expect(selText(decodeSelEntry(bytes(entry)), records)).toBe(text);
});

test('a time after the clock was set is month, day, year and local time', () => {
  const local = new Date(2024, 3, 29, 22, 6, 5);
  expect(timeText(local.getTime() / 1000)).toBe('04/29/2024 22:06:05');
});

const info = (entries: string, erased = '00000000'): Step => ({
  request: '0a 40',
  data: `51 ${entries} 603e 0c140000 ${erased} 0a`,
});

test('the log is read entry by entry', async () => {
  const link = scriptedLink([
    info('0200'),
    { request: '0a 43 0000 0000 00 ff', data: '0200 0100020c140000200004080a6f00ffff' },
    { request: '0a 43 0000 0200 00 ff', data: 'ffff 0200020c14000020000401020159615f' },
  ]);
  const read = (await readSel(link, patient)).map((entry) => entry.kind === 'event' && entry.sensorNumber);
  expect(read).toEqual([0x0a, 0x02]);
});

test('an empty log is not read, and one that empties meanwhile ends', async () => {
  expect(await readSel(scriptedLink([info('0000')]), patient)).toEqual([]);
  const link = scriptedLink([info('0100'), { request: '0a 43 0000 0000 00 ff', code: 0xcb }]);
  expect(await readSel(link, patient)).toEqual([]);
});

test('clearing reserves, starts, asks until it is done and looks', async () => {
  const link = scriptedLink([
    info('0200'),
    { request: '0a 42', data: '0700' },
    { request: '0a 47 0700 434c52 aa', data: '00' },
    { request: '0a 47 0700 434c52 00', data: '01' },
    info('0000'),
  ]);
  await clearSel(link, patient);
  expect(link.left()).toBe(0);
  expect(link.sent.map(({ repeatable }) => repeatable ?? true)).toEqual([true, true, false, true, true]);
});

test('a reservation lost to a new event is made again', async () => {
  const link = scriptedLink([
    info('0200'),
    { request: '0a 42', data: '0700' },
    { request: '0a 47 0700 434c52 aa', code: 0xc5 },
    { request: '0a 42', data: '0800' },
    { request: '0a 47 0800 434c52 aa', data: '01' },
    info('0100', '0d140000'),
  ]);
  await clearSel(link, patient);
  expect(link.left()).toBe(0);
});

const unanswered: readonly Step[] = [
  info('0200'),
  { request: '0a 42', data: '0700' },
  { request: '0a 47 0700 434c52 aa', error: new Fault('deadline', 'no answer') },
];

test('an unanswered clearing is not repeated but judged by the log', async () => {
  await clearSel(scriptedLink([...unanswered, info('0000')]), patient);
  await expect(clearSel(scriptedLink([...unanswered, info('0200')]), patient)).rejects.toThrow('no answer');
});

test('a log that is not cleared is an error', async () => {
  const link = scriptedLink([
    info('0200'),
    { request: '0a 42', data: '0700' },
    { request: '0a 47 0700 434c52 aa', data: '01' },
    info('0200'),
  ]);
  await expect(clearSel(link, patient)).rejects.toThrow(/but it did not/);
});
