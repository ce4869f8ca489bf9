import { describe, expect, test } from 'vitest';
import { type Read, violationsOf, type Write } from '../../bench/chaos-history.ts';

let clock = 0;
const wrote = (value: string, revision: number, more: Partial<Write> = {}): Write => ({
  node: 'n1',
  value,
  began: ++clock,
  ended: ++clock,
  outcome: 'acknowledged',
  revision,
  ...more,
});
/** Its reply never came. */
const asked = (value: string, more: Partial<Write> = {}): Write => {
  const { revision: _, ...write } = wrote(value, 0, { outcome: 'unknown', ...more });
  return write;
};
const refused = (value: string): Write => asked(value, { outcome: 'refused' });
const read = (value: string, revision: number, more: Partial<Read> = {}): Read => ({
  node: 'n1',
  value,
  revision,
  asked: 0,
  ...more,
});

type History = readonly [what: string, writes: readonly Write[], reads: readonly Read[]];

const accepted: History[] = [
  ['nothing written', [], [read('', 7)]],
  [
    'what was written, also at a server that is behind',
    [wrote('a', 1), wrote('b', 2)],
    [read('b', 2), read('a', 1), read('', 0)],
  ],
  [
    'a lost reply to a write that did not happen',
    [wrote('a', 1), asked('b'), wrote('c', 2)],
    [read('a', 1), read('c', 2)],
  ],
  [
    'a lost reply to a write that happened',
    [wrote('a', 1), asked('b'), wrote('c', 4)],
    [read('a', 1), read('b', 3), read('c', 4)],
  ],
  ['one that happened later than its reply was lost', [wrote('a', 1), asked('b')], [read('a', 2), read('b', 3)]],
  [
    'two at the same time, in either order',
    [wrote('a', 2, { began: 0, ended: 1e9 }), wrote('b', 1, { began: 0, ended: 1e9 })],
    [read('a', 2)],
  ],
];

const rejected: [...History, RegExp][] = [
  [
    'a write that was acknowledged and is lost',
    [wrote('a', 1), wrote('b', 2)],
    [read('a', 2, { asked: 2 })],
    /"a".*revision 1.*n1=b/,
  ],
  [
    'a reply that is older than it was asked to be',
    [wrote('a', 1)],
    [read('', 0, { asked: 1 })],
    /older than the one that was asked for/,
  ],
  ['a value that nobody wrote', [wrote('a', 1)], [read('z', 1)], /nobody has written that/],
  ['a value from the future', [wrote('a', 1), wrote('b', 5)], [read('b', 3)], /that has revision 5/],
  ['a write that was refused', [wrote('a', 1), refused('b')], [read('b', 2)], /nothing was done/],
  [
    'one without an answer that comes, goes and comes',
    [wrote('a', 1), asked('b')],
    [read('b', 2), read('a', 3)],
    /not in between/,
  ],
  [
    'one without an answer that undoes a later one',
    [asked('b', { began: 1e9 }), wrote('a', 9, { began: 1, ended: 2 })],
    [read('b', 5)],
    /not in between/,
  ],
  ['two writes of one revision', [wrote('a', 1), wrote('b', 1, { node: 'n2' })], [], /revision 1 was given to/],
  ['revisions against the order of time', [wrote('a', 9), wrote('b', 3, { node: 'n2' })], [], /had ended before/],
];

describe('the checker of histories', () => {
  test.each(accepted)('accepts %s', (_what, writes, reads) => {
    expect(violationsOf(writes, reads)).toEqual([]);
  });
  test.each(rejected)('refuses %s', (_what, writes, reads, complaint) => {
    expect(violationsOf(writes, reads)).toEqual([expect.stringMatching(complaint)]);
  });
});
