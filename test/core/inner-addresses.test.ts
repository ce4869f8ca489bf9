import { networkInterfaces } from 'node:os';
import { expect, it } from 'vitest';
import { isInner } from '../../src/core/address-guard.ts';

it.each([
  '127.0.0.1',
  '127.9.9.9',
  '0.0.0.0',
  '169.254.169.254',
  '::1',
  '::',
  'fe80::1',
  '::ffff:127.0.0.1',
  'ff02::1',
])('%s is on this machine or its link', (address) => {
  expect(isInner(address)).toBe(true);
});

it('the addresses of its interfaces are', () => {
  const own = Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? []);
  expect(own.filter((address) => !isInner(address))).toEqual([]);
});

it('others are not', () => {
  expect(['192.0.2.1', '2001:db8::1', '::ffff:192.0.2.1'].filter(isInner)).toEqual([]);
});
