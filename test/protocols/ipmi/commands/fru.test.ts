import { expect, test } from 'vitest';
import { decodeBoardArea, decodeFruHeader, readFru } from '../../../../src/protocols/ipmi/commands/fru.ts';
import { decodeField } from '../../../../src/protocols/ipmi/commands/bytes.ts';
import { bytes, patient, scriptedLink, type Step } from './script.ts';

test.each([
  ['8-bit', 'c4 46616e31', 'fru', 'Fan1'],
  ['8-bit, blanks and zeros at the end', 'c8 46616e3120200000', 'fru', 'Fan1'],
  ['6-bit, example of the standard', '83 29DCA6', 'fru', 'IPMI'],
  ['BCD plus', '43 123abc', 'fru', '123 -.'],
  ['bytes', '03 0102ff', 'fru', '0102FF'],
  ['bytes that are text', '03 414243', 'fru', 'ABC'],
  ['zeros', '03 000000', 'fru', ''],
  ['UTF-16', '04 41004200', 'sdr', 'AB'],
  ['8-bit in another language is UTF-16', 'c4 51677f89', 'fru-utf16', '\u6751\u897f'],
  ['longer than the data', 'ca 4142', 'fru', 'AB'],
  ['SDR length has five bits', 'e2 4142', 'sdr', 'AB'],
  ['no data', '', 'fru', ''],
] as const)('text: %s', (_, data, coding, text) => {
  expect(decodeField(bytes(data), 0, coding).text).toBe(text);
});

test.each([
  ['01 00 01 04 0c 00 00 ee', { chassis: 8, board: 32, product: 96 }],
  ['01 00 00 00 01 00 00 fe', { chassis: undefined, board: undefined, product: 8 }],
  ['01 00 00 00 01 00 00 00', { chassis: undefined, board: undefined, product: 8 }],
  ['00 00 01 04 0c 00 00 ee', undefined],
  ['01 00 01', undefined],
])('header %s', (data, offsets) => {
  expect(decodeFruHeader(bytes(data))).toEqual(offsets);
});

test('a board area', () => {
  const area = bytes('01 05 19 405ad5 c3 414243 c0 c2 5331 c2 5031 c0 c5 6578747261 c1 0000');
  expect(decodeBoardArea(area)).toEqual({
    manufactured: new Date('2022-08-01T21:52:00Z'),
    manufacturer: 'ABC',
    description: '',
    serialNumber: 'S1',
    model: 'P1',
    extra: ['extra'],
  });
});

const product = '01 03 19 c3414243 c25859 c24d31 c0 c25331 c0 c0 c1 00000000'.replaceAll(' ', '');
const image = `01000000010000fe${product}`;

const readAll = (id: string, step: (offset: number, length: number) => Step): Step[] => [
  { request: `0a 10 ${id}`, data: '0002 00' },
  step(0, 8),
];

test('a board area in another language than English', () => {
  const area = bytes('01 05 11 000000 c4 51677f89 c0 c4 41004200 c0 c0 c1 00');
  expect(decodeBoardArea(area)).toMatchObject({ manufacturer: '\u6751\u897f', serialNumber: 'AB' });
});

test('a part that is busy is asked again, and refuses if it stays so', async () => {
  const open = { request: '0a 10 05', data: '0800 00' };
  const read = { request: '0a 11 05 0000 08' };
  const busy = { ...read, code: 0x81 };
  const link = scriptedLink([open, busy, busy, { ...read, data: '08 0100000000000000' }]);
  expect(await readFru(link, 5, patient)).toMatchObject({ product: undefined });
  await expect(readFru(scriptedLink([open, busy, busy, busy, busy]), 5, patient)).rejects.toThrow('the part is busy');
});

test('only the areas that are there are read', async () => {
  const piece = (offset: number, length: number): Step => ({
    request: `0a 11 00 ${Buffer.of(offset, 0, length).toString('hex')}`,
    data: `${Buffer.of(length).toString('hex')}${image.slice(2 * offset, 2 * (offset + length))}`,
  });
  const link = scriptedLink([...readAll('00', piece), piece(8, 8), piece(16, 16)]);
  const fru = await readFru(link, 0, patient);
  expect(fru).toMatchObject({
    chassis: undefined,
    board: undefined,
    product: { manufacturer: 'ABC', serialNumber: 'S1' },
  });
  expect(link.left()).toBe(0);
});

test.each([
  ['no such device', [{ request: '0a 10 05', code: 0xcb }]],
  ['an empty device', [{ request: '0a 10 05', data: '0000 00' }]],
  [
    'something else than FRU data',
    [
      { request: '0a 10 05', data: '0001 00' },
      { request: '0a 11 05 0000 08', data: '08 ffffffffffffffff' },
    ],
  ],
])('%s has no areas', async (_, steps) => {
  const link = scriptedLink(steps);
  expect(await readFru(link, 5, patient)).toBeUndefined();
  expect(link.left()).toBe(0);
});

test('a device read in words gets its offsets in words', async () => {
  const link = scriptedLink([
    { request: '0a 10 05', data: '0001 01' },
    { request: '0a 11 05 0000 04', data: '04 ffffffffffffffff' },
  ]);
  expect(await readFru(link, 5, patient)).toBeUndefined();
  expect(link.left()).toBe(0);
});
