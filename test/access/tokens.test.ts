import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  expiryText,
  hashToken,
  lifetimeDays,
  newToken,
  parseExpiry,
  shownExpiry,
  storedTime,
} from '../../src/access/tokens.ts';

test('tokens have UUID form, differ, and every bit varies', () => {
  const tokens = Array.from({ length: 300 }, newToken);
  let ones = 0n;
  let zeros = 0n;
  for (const token of tokens) {
    expect(token).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
    const bits = BigInt(`0x${token.replaceAll('-', '')}`);
    ones |= bits;
    zeros |= ~bits & ((1n << 128n) - 1n);
  }
  expect(new Set(tokens).size).toBe(300);
  expect(ones).toBe((1n << 128n) - 1n);
  expect(zeros).toBe((1n << 128n) - 1n);
});

test('the hash of a token is SHA-256 in hex', () => {
  expect(hashToken('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

describe('expiry', () => {
  test('is local time without zero padding', () => {
    expect(expiryText(new Date(2031, 0, 2, 3, 4, 5))).toBe('2031-1-2 3:4:5');
    expect(expiryText(new Date(2031, 11, 31, 23, 59, 0))).toBe('2031-12-31 23:59:0');
    expect(expiryText(undefined)).toBe('never');
  });

  test.each([
    ['2031-1-2 3:4:5', new Date(2031, 0, 2, 3, 4, 5).getTime()],
    ['2031-01-02 03:04:05', new Date(2031, 0, 2, 3, 4, 5).getTime()],
    ['never', Number.POSITIVE_INFINITY],
    ['Never', Number.POSITIVE_INFINITY],
    ['', Number.NaN],
    ['tomorrow', Number.NaN],
    ['1700000000', Number.NaN],
    ['2031-2-30 0:0:0', Number.NaN],
    ['2031-13-1 0:0:0', Number.NaN],
    ['2031-0-1 0:0:0', Number.NaN],
    ['2031-1-2 24:0:0', Number.NaN],
    ['2031-1-2 3:60:0', Number.NaN],
    ['2031-1-2 3:4:5 x', Number.NaN],
    ['2031-1-2T3:4:5Z', Number.NaN],
    ['2031-1-2 3:4:5 +0000', Date.UTC(2031, 0, 2, 3, 4, 5)],
    ['2031-1-2 3:4:5 +1300', Date.UTC(2031, 0, 1, 14, 4, 5)],
    ['2031-1-2 3:4:5 -0330', Date.UTC(2031, 0, 2, 6, 34, 5)],
    ['2031-2-30 0:0:0 +0000', Number.NaN],
    ['2031-1-2 3:4:5 UTC', Number.NaN],
  ])('%j is read as %d', (text, expected) => {
    expect(parseExpiry(text)).toBe(expected);
  });

  test('reading gives back what was written, to the second', () => {
    for (const time of [0, 951_782_399_000, 1_900_000_000_000])
      expect(parseExpiry(expiryText(new Date(time)))).toBe(time);
  });

  describe('that is stored', () => {
    afterEach(() => vi.unstubAllEnvs());

    test('means the same at servers of other time zones, and each shows it in its own', () => {
      const time = Date.UTC(2031, 6, 2, 23, 4, 5);
      const zones = ['UTC', 'Pacific/Auckland', 'America/St_Johns', 'America/Los_Angeles'];
      const stored = zones.map((zone) => {
        vi.stubEnv('TZ', zone);
        return storedTime(new Date(time));
      });
      expect(stored).toEqual([
        '2031-7-2 23:4:5 +0000',
        '2031-7-3 11:4:5 +1200',
        '2031-7-2 20:34:5 -0230',
        '2031-7-2 16:4:5 -0700',
      ]);
      for (const [i, zone] of zones.entries()) {
        vi.stubEnv('TZ', zone);
        expect(stored.map(parseExpiry)).toEqual(stored.map(() => time));
        expect(stored.map(shownExpiry)).toEqual(stored.map(() => stored[i]!.replace(/ [+-]\d+$/, '')));
      }
      expect([storedTime(undefined), shownExpiry('never'), shownExpiry('garbage')]).toEqual([
        'never',
        'never',
        'garbage',
      ]);
    });
  });

  test('what cannot be read counts as expired', () => {
    expect(parseExpiry('garbage') > Date.now()).toBe(false);
  });
});

test.each([
  [undefined, 1],
  ['', 1],
  ['7', 7],
  [' 30 ', 30],
  ['0.5', 0.5],
  ['0', 1],
  ['-3', 1],
  ['ten', 1],
  ['1e9', 1],
  ['Infinity', 1],
  ['never', Number.POSITIVE_INFINITY],
  ['NEVER', Number.POSITIVE_INFINITY],
  ['99999999999999', 1_000_000],
])('tokenexpiredays %j gives %d days', (value, days) => {
  expect(lifetimeDays(value)).toBe(days);
});
