import { expect, test } from 'vitest';
import { canonicalAddress, networkOf } from '../../src/access/addresses.ts';

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['::FFFF:a00:1', '10.0.0.1'],
  ['FE80:0:0::1', 'fe80::1'],
  ['fe80::1%eth0', 'fe80::1'],
  [' Admin.Example.COM ', 'admin.example.com'],
  ['::1', '::1'],
])('canonicalAddress(%j) is %j', (text, expected) => {
  expect(canonicalAddress(text)).toBe(expected);
});

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['::1', '0:0:0:0::/64'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::9', '2001:db8:0:0::/64'],
  ['not an address', 'not an address'],
])('networkOf(%j) is %j', (address, expected) => {
  expect(networkOf(address)).toBe(expected);
});
