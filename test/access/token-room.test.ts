import { expect, test } from 'vitest';
import { expiryText, maximumTokens, tokensToDrop } from '../../src/access/tokens.ts';
import type { Row } from '../../src/database/tables.ts';

const now = new Date(2031, 0, 2, 12, 0, 0).getTime();
const minute = 60_000;
const at = (minutes: number): string => expiryText(new Date(now + minutes * minute));

/** Minutes until they expire, since they were made, and since they were used. */
const tokens = (...rows: [id: string, expires: number, made: number, used?: number][]): Row[] =>
  rows.map(([tokenid, expires, made, used]) => ({
    tokenid,
    username: 'u',
    expire: at(expires),
    created: at(-made),
    ...(used === undefined ? {} : { access: at(-used) }),
  }));
const dropped = (rows: readonly Row[], most?: number): unknown[] =>
  tokensToDrop(new Map(rows.map((row) => [row['tokenid']!, row])), now, most);

test.for<[what: string, rows: Row[], lost: string[]]>([
  ['none while there is room', tokens(['a', 5, 9], ['b', 5, 8]), []],
  ['the oldest', tokens(['a', 5, 7], ['b', 5, 9], ['c', 5, 8]), ['b']],
  ['the one that was not used for longest', tokens(['a', 5, 90, 1], ['b', 5, 9, 8], ['c', 5, 7]), ['b']],
  ['as many as are too many', tokens(['a', 5, 4], ['b', 5, 3], ['c', 5, 2], ['d', 5, 1]), ['a', 'b']],
  ['expired ones and no others', tokens(['a', -1, 1], ['b', 5, 9], ['c', -2, 1]), ['a', 'c']],
  ['expired ones first', tokens(['a', -1, 1], ['b', 5, 9], ['c', 5, 8], ['d', 5, 7]), ['a', 'b']],
  [
    'one whose times cannot be read',
    [...tokens(['a', 5, 9], ['b', 5, 8]), { tokenid: 'c', username: 'u', expire: 'never', created: 'once' }],
    ['c'],
  ],
])('when an account may have three and takes one more, it loses %s', ([, rows, lost]) => {
  expect(dropped(rows, 3)).toEqual(lost);
});

test('a tenth goes at once, so that the next ones find room', () => {
  const all = Array.from({ length: 100 }, (_, i) => [`t${i}`, 5, i] as [string, number, number]);
  expect(dropped(tokens(...all), 100)).toEqual(
    all
      .slice(-10)
      .map(([id]) => id)
      .reverse(),
  );
});

test('a script that takes a token every minute of a day loses none of them', () => {
  const day = Array.from({ length: 1_440 }, (_, i) => [`t${i}`, 1_440 - i, i] as [string, number, number]);
  expect(maximumTokens).toBeGreaterThan(2 * 1_440);
  expect(dropped(tokens(...day))).toEqual([]);
});
