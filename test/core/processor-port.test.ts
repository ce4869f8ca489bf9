import { expect, test } from 'vitest';
import { processorPort } from '../../src/core/host-address.ts';

test.each<[string, number | undefined | false]>([
  ['', undefined],
  ['0', undefined],
  ['99', undefined],
  ['2 0', undefined],
  ['1,2', undefined],
  ['100', 100],
  [' 443 ', 443],
  ['65535', 65_535],
  ['65536', false],
  ['99999', false],
  ['100000', false],
  ['0443', false],
  ['443 444', false],
  ['1 443', false],
  ['abc', false],
  ['-1', false],
  ['4e3', false],
  ['0x50', false],
])('the port %j is %s', (text, port) => expect(processorPort(text)).toBe(port));
