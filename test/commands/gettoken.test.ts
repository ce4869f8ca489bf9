import { afterEach, beforeEach, expect, test } from 'vitest';
import { expiryText, hashToken, maximumTokens } from '../../src/access/tokens.ts';
import { gettoken } from '../../src/commands/tokens.ts';
import { forgetOldRecords } from '../../src/housekeeping.ts';
import { answerOf, memoryStore, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
beforeEach(async () => {
  cluster = await memoryStore();
});
afterEach(() => cluster.close());

const hour = 3_600_000;
const at = (hours: number): string => expiryText(new Date(Date.now() + hours * hour));
const token = (tokenid: string, username: string, expires: number, used: number) =>
  ['token', { tokenid, username, expire: at(expires), created: at(-used), access: at(-used) }] as const;
const ids = (): string[] => cluster.rows('token').map(({ tokenid }) => tokenid!);

test('an account that has as many tokens as it may loses those not used for longest, in the same change set', async () => {
  const few = maximumTokens / 10;
  const many = Array.from({ length: maximumTokens }, (_, i) => token(`t${i}`, 'root', 20, i < few ? 9 : 1));
  await cluster.put(...many, token('other', 'somebody', 20, 12));
  const before = cluster.current.sequence;
  const { token: made } = answerOf(await cluster.run(gettoken, {})) as { token: { id: string } };
  expect(ids()).toHaveLength(maximumTokens - few + 2);
  expect(ids()).toContain(hashToken(made.id));
  expect(ids()).toContain('other');
  expect(ids().filter((id) => /^t\d+$/.test(id) && Number(id.slice(1)) < few)).toEqual([]);
  const [entry, ...more] = (await cluster.store.database.changesAfter(before)) ?? [];
  expect(more).toEqual([]);
  const ended = entry!.changes['token']!.filter(([, , after]) => after === null);
  expect([ended.length, entry!.changes['token']!.length]).toEqual([few, few + 1]);
});

test('tokens are cleaned away a day after they have expired', async () => {
  await cluster.put(token('living', 'root', 1, 1), token('over', 'root', -1, 2), token('long over', 'root', -25, 30));
  await cluster.put(['token', { tokenid: 'unreadable', username: 'root', expire: 'soon' }]);
  await cluster.put(['token', { tokenid: 'endless', username: 'root', expire: 'never' }]);
  await forgetOldRecords(cluster.services);
  expect(ids().sort()).toEqual(['endless', 'living', 'over']);
});
