import { expect, test } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import { credentialsOf, type IpmiEndpoint, hostAndPort } from '../../../src/protocols/ipmi/link.ts';
import { literalAddress } from '../../../src/protocols/ipmi/resolve.ts';

const good = { address: '192.0.2.1', username: 'admin', password: 'secret' };

test.each([
  ['no user', { username: '' }, 'anonymous'],
  ['no password', { password: '' }, 'anonymous'],
  ['a user of 17 bytes', { username: 'a'.repeat(17) }, 'at most 16 bytes'],
  ['a user of 16 letters and 17 bytes', { username: `${'a'.repeat(15)}é` }, 'at most 16 bytes'],
  ['a password of 21 bytes', { password: 'p'.repeat(21) }, 'at most 20 bytes'],
  ['a password with a zero byte', { password: 'a\0b' }, 'must not contain a zero byte'],
  ['a K_g of 21 bytes', { kg: Buffer.alloc(21, 1) }, 'K_g has at most 20 bytes'],
  ['suite 0', { suites: [17, 0 as 3] }, 'cipher suite 0 is refused'],
  ['suite 1', { suites: [1 as 3] }, 'cipher suite 1 is refused'],
  ['no suite', { suites: [] }, 'no IPMI cipher suite is allowed'],
  ['no address', { address: '' }, 'no BMC address'],
  ['a port out of range', { port: 70_000 }, 'port 70000'],
] as [string, Partial<IpmiEndpoint>, string][])('%s is refused', (_name, change, text) => {
  const refused = (): unknown => credentialsOf({ ...good, ...change });
  expect(refused).toThrow(Fault);
  expect(refused).toThrow(text);
});

test.each([
  ['the longest user and password', { username: 'a'.repeat(16), password: 'p'.repeat(20) }, false],
  ['a K_g of 20 bytes', { kg: Buffer.alloc(20, 1) }, true],
  ['a K_g of zeros, which is none', { kg: Buffer.alloc(20) }, false],
])('%s are accepted', (_name, change, hasKg) => {
  expect(credentialsOf({ ...good, ...change })).toMatchObject({ hasKg });
});

test.each([
  [{ ...good }, '192.0.2.1'],
  [{ ...good, port: 6230 }, '192.0.2.1:6230'],
  [{ ...good, address: '2001:db8::1', port: 6230 }, '[2001:db8::1]:6230'],
])('place %#', (endpoint, place) => {
  expect(hostAndPort(endpoint)).toBe(place);
});

test.each([
  ['192.0.2.1', { address: '192.0.2.1', family: 4 }],
  ['2001:DB8:0:0::1', { address: '2001:db8::1', family: 6 }],
  ['::ffff:192.0.2.1', { address: '192.0.2.1', family: 4 }],
  ['fe80::1%eth0', { address: 'fe80::1%eth0', family: 6 }],
  ['bmc1', undefined],
])('address %s', (text, expected) => {
  expect(literalAddress(text)).toEqual(expected);
});
