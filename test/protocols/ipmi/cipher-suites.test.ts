import { expect, it } from 'vitest';
import { decodeCipherSuites } from '../../../src/protocols/ipmi/commands/channel.ts';

const suite = (id: number, authentication: number, integrity: number, confidentiality: number, isOem = false) => ({
  id,
  isOem,
  authentication,
  integrity,
  confidentiality,
});

it.each([
  ['none', [], []],
  ['suite 0', [0xc0, 0x00, 0x00, 0x40, 0x80], [suite(0, 0, 0, 0)]],
  ['suites 3 and 17', [0xc0, 3, 0x01, 0x41, 0x81, 0xc0, 17, 0x03, 0x44, 0x81], [suite(3, 1, 1, 1), suite(17, 3, 4, 1)]],
  ['one without integrity', [0xc0, 1, 0x01], [suite(1, 1, 0, 0)]],
  [
    'one of a maker',
    [0xc1, 0x80, 0x57, 0x01, 0x00, 0x01, 0x41, 0x81, 0xc0, 2, 0x01, 0x41],
    [suite(0x80, 1, 1, 1, true), suite(2, 1, 1, 0)],
  ],
  ['bytes before the first', [0x01, 0xff, 0xc0, 3, 0x01, 0x41, 0x81], [suite(3, 1, 1, 1)]],
  ['one that is cut off', [0xc0, 3, 0x01, 0x41, 0x81, 0xc0], [suite(3, 1, 1, 1)]],
  ['one of a maker that is cut off', [0xc1, 0x80, 0x57], [suite(0x80, 0, 0, 0, true)]],
])('%s', (_what, bytes, suites) => {
  expect(decodeCipherSuites(Buffer.from(bytes))).toEqual(suites);
});
