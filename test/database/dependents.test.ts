import { expect, test } from 'vitest';
import { type Columns, Draft } from '../../src/database/draft.ts';
import { keyOf, tableNamed } from '../../src/database/tables.ts';
import { plainSeal } from '../harness/random-changes.ts';
import { snapshotOf } from '../harness/snapshot.ts';

const anna = { key: 'xcat', username: 'anna', password: 'hash' };
const base = snapshotOf({
  passwd: [anna, { key: 'xcat', username: 'bert', password: 'hash' }, { key: 'ipmi', username: 'anna', password: 'x' }],
  token: [
    { tokenid: 'a1', username: 'anna', expire: 'never' },
    { tokenid: 'a2', username: 'anna', expire: 'never' },
    { tokenid: 'b1', username: 'bert', expire: 'never' },
    { tokenid: 'n1', username: 'nobody', expire: 'never' },
  ],
});
const keyIn = (row: { key: string; username: string }): string => keyOf(tableNamed('passwd'), row);

const change = (columns: Columns) => (draft: Draft) => draft.merge('passwd', keyIn(anna), columns);

test.for<[what: string, work: (draft: Draft) => void, ended: readonly string[]]>([
  ['a new password', change({ password: 'other' }), ['a1', 'a2']],
  ['no password any more', change({ password: undefined }), ['a1', 'a2']],
  ['being disabled', change({ disable: '1' }), ['a1', 'a2']],
  ['another name', change({ username: 'berta' }), ['a1', 'a2']],
  ['another key', change({ key: 'system', password: 'x' }), ['a1', 'a2']],
  ['the removal', (draft) => draft.remove('passwd', keyIn(anna)), ['a1', 'a2']],
  ['a note about it', change({ comments: 'on leave' }), []],
  ['the same password', change({ password: 'hash' }), []],
  ['the stars written back', change({ password: '********' }), []],
  [
    'a change that is taken back',
    (draft) => (change({ disable: '1' })(draft), change({ disable: undefined })(draft)),
    [],
  ],
  [
    'a row of another kind',
    (draft) => draft.merge('passwd', keyIn({ key: 'ipmi', username: 'anna' }), { password: 'y' }),
    [],
  ],
  [
    'the making of an account, tokens that an earlier one of that name left',
    (draft) => draft.merge('passwd', keyIn({ key: 'xcat', username: 'nobody' }), { ...anna, username: 'nobody' }),
    ['n1'],
  ],
  [
    'the change of two accounts, the tokens of both',
    (draft) => {
      for (const username of ['anna', 'bert']) draft.remove('passwd', keyIn({ key: 'xcat', username }));
    },
    ['a1', 'a2', 'b1'],
  ],
])('of an account, %s ends its tokens in the same change set', ([, work, ended]) => {
  const draft = new Draft(base, plainSeal);
  work(draft);
  const tokens = draft.changes().filter(({ table }) => table === 'token');
  expect(tokens.map(({ key, after }) => [key, after])).toEqual(ended.map((key) => [key, undefined]));
  expect(draft.snapshot().rows('token').size).toBe(base.rows('token').size - ended.length);
});

test('a token that is changed together with its account goes, and one that comes with it stays', () => {
  const draft = new Draft(base, plainSeal);
  draft.merge('token', 'a1', { access: 'now' });
  draft.merge('token', 'b1', { access: 'now' });
  draft.merge('token', 'new', { tokenid: 'new', username: 'anna' });
  change({ password: 'other' })(draft);
  const after = draft.snapshot().rows('token');
  expect(after.keys()).toEqual(['b1', 'n1', 'sealed new']);
  expect(draft.changes().filter(({ table, key }) => table === 'token' && key === 'a1')).toHaveLength(1);
});
