import { describe, expect, test } from 'vitest';
import { hashPassword, isCryptHash, sameText, verifyPassword } from '../../src/access/crypt.ts';

/** Made with perl's crypt() and `openssl passwd` from the phrase "correct horse". */
const vectors: [method: string, stored: string][] = [
  ['yescrypt', '$y$j9T$F5Jx5fExrKuPp53xLKQ..1$zwtVrjrUCmXcyLTs6oxLTQlzifSUkF8RHJ./tK5KU79'],
  ['gost-yescrypt', '$gy$j9T$F5Jx5fExrKuPp53xLKQ..1$fjSOzYe3VPU6Q.dJqx4tYW6CE1ptRyuKNHZ4IlHBYq1'],
  ['scrypt', '$7$CU..../....2Q9obwLhin8qvQl6sisAO/$oIC8WxhpH9ruKl.LfT0rUVd1y3wES8GrhOwdmCotLyD'],
  ['bcrypt 2b', '$2b$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2'],
  ['bcrypt 2a', '$2a$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2'],
  ['bcrypt 2y', '$2y$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2'],
  ['sha512', '$6$saltstring$.r0X7ub5wGR2v4Xz7svCIozfnlorFh19V89t8KC9Umd81uGhFgsyTRNyzQDXDIm17fFcR9z3z7oBNdsyYBbtm/'],
  [
    'sha512 with rounds',
    '$6$rounds=5000$saltstring$.r0X7ub5wGR2v4Xz7svCIozfnlorFh19V89t8KC9Umd81uGhFgsyTRNyzQDXDIm17fFcR9z3z7oBNdsyYBbtm/',
  ],
  ['sha256', '$5$saltstring$vc6YOOogU4kWVvwga8e9zTFgKcy4tb5LaPxIiPJzqEC'],
  ['sha256 with rounds', '$5$rounds=10000$saltstringsaltst$ffO6RHJbzihHqETll0c/MLDJrGhQw9fAaO1LcVIStWB'],
  ['md5', '$1$abcdefgh$y6iHhJNbuC0xpbk0w9pm80'],
  ['sha1', '$sha1$1000$aPwMgGhf$fplbTne6CbObApciYVVKN566Tmec'],
  ['sun md5', '$md5,rounds=904$saltstri$$zxMKIpiTN5XZSZQy.cMX2.'],
  ['nt', '$3$$cfc43211ba8dc470832267827cac1407'],
];

describe('verifyPassword', () => {
  test.each(vectors)('%s: accepts the right phrase only', async (_method, stored) => {
    expect(await verifyPassword('correct horse', stored)).toBe(true);
    expect(await verifyPassword('correct horsf', stored)).toBe(false);
  });

  test('traditional DES is verified although it is not recognised by its shape', async () => {
    expect(await verifyPassword('correct horse', 'abhfCpXqd4GrI')).toBe(true);
    expect(await verifyPassword('wrong', 'abhfCpXqd4GrI')).toBe(false);
    expect(isCryptHash('abhfCpXqd4GrI')).toBe(false);
  });

  test('phrases are taken as UTF-8', async () => {
    const stored = '$6$utf$Yj9doTWO9gCA74KNX3b60gkj.Ua0xDc.QdpnOutt54qew5C3D/dpuXrZRswqmVXU5KixPPlJunktt1pTsr.a40';
    expect(await verifyPassword('p\u00e9ss', stored)).toBe(true);
  });

  test.each([
    ['an empty stored value', 'x', ''],
    ['a clear text', 'secret', 'secret'],
    ['a lock mark', 'x', '*0'],
    ['an unknown method', 'x', '$nope$abc$def'],
    ['a salt without hash', 'x', '$6$saltstring'],
    ['a stored value with NUL', 'correct horse', '$1$abcdefgh$y6iHhJNbuC0xpbk0w9pm80\0'],
    ['a phrase with NUL', 'correct horse\0', '$1$abcdefgh$y6iHhJNbuC0xpbk0w9pm80'],
  ])('%s never matches', async (_what, clear, stored) => {
    expect(await verifyPassword(clear, stored)).toBe(false);
  });

  test('more than 511 bytes never match', async () => {
    const longest = `${'\u00e9'.repeat(255)}x`;
    const stored = await hashPassword(longest);
    expect(await verifyPassword(longest, stored)).toBe(true);
    expect(await verifyPassword(`${longest}x`, stored)).toBe(false);
  });

  test('two computations at once, sixty-four waiting, the rest refused with a time to come back', async () => {
    const md5 = '$1$abcdefgh$y6iHhJNbuC0xpbk0w9pm80';
    const results = await Promise.allSettled(Array.from({ length: 100 }, () => verifyPassword('correct horse', md5)));
    expect(results.filter((result) => result.status === 'fulfilled' && result.value)).toHaveLength(66);
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(refused).toHaveLength(34);
    for (const fault of refused) expect(fault).toMatchObject({ kind: 'unavailable', retryAfter: 1 });
    expect(await verifyPassword('correct horse', md5)).toBe(true);
  });
});

describe('hashPassword', () => {
  test('makes a salted hash of the best method that verifies', async () => {
    const [one, two] = await Promise.all([hashPassword('s3cret'), hashPassword('s3cret')]);
    expect(one).toMatch(/^\$(y|6)\$/);
    expect(one).not.toBe(two);
    expect(isCryptHash(one)).toBe(true);
    expect(await verifyPassword('s3cret', one)).toBe(true);
    expect(await verifyPassword('S3cret', one)).toBe(false);
  });

  test.each([
    ['NUL', 'a\0b'],
    ['512 bytes', 'x'.repeat(512)],
    ['256 letters of two bytes', '\u00e9'.repeat(256)],
  ])('refuses %s', async (_what, clear) => {
    await expect(hashPassword(clear)).rejects.toMatchObject({ kind: 'invalid' });
  });
});

describe('isCryptHash', () => {
  test.each(vectors)('recognises %s', (_method, stored) => {
    expect(isCryptHash(stored)).toBe(true);
    expect(isCryptHash(stored.slice(0, -1))).toBe(false);
    expect(isCryptHash(`${stored}x`)).toBe(false);
    expect(isCryptHash(` ${stored}`)).toBe(false);
    expect(isCryptHash(`${stored}\n`)).toBe(false);
  });

  test.each([
    '',
    '$',
    '$ecret',
    '$6$',
    '$6$salt',
    '$1$abcdefgh$',
    '$y$j9T$F5Jx5fExrKuPp53xLKQ..1',
    '$2b$99$'.padEnd(60, 'a'),
    '*',
    '!!',
    '********',
  ])('%j is no hash', (text) => {
    expect(isCryptHash(text)).toBe(false);
  });
});

test.each([
  ['abc', 'abc', true],
  ['abc', 'abd', false],
  ['abc', 'abcd', false],
  ['', '', true],
])('sameText(%j, %j) is %j', (a, b, same) => {
  expect(sameText(a, b)).toBe(same);
});
