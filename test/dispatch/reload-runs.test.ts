import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { Draft } from '../../src/database/draft.ts';
import { Servers } from '../../src/database/servers.ts';
import { Store } from '../../src/database/store.ts';
import { openRuns, type OpenedRuns } from '../../src/dispatch/open-runs.ts';
import { accountRowKey } from '../../src/objects/accounts.ts';
import { governors, memoryStore, silent, testOrigin, type TestStore } from '../harness/store.ts';

const log = pino({ level: 'silent' });
const audience = { isHeard: false, run: () => undefined, progress: () => undefined };

const users = ['anna', 'bert', 'carl'];

let cluster: TestStore;
/** A server that was cut off for so long that the change sets since are no longer known: it reads everything again. */
let behind: Store;
let opened: OpenedRuns;
let journalIsGone: boolean;
let journalIsOther: boolean;

const cutOff = (database: Database): Database => ({
  ...silent(database),
  // It has caught up when it has read everything.
  changesAfter: async (after) => ((await database.load()).sequence === after ? [] : undefined),
  oldestEntry: async () => (journalIsGone ? undefined : database.oldestEntry()),
  readJournal: (query) => database.readJournal(journalIsOther ? { ...query, after: query.until } : query),
  close: async () => undefined,
});

beforeEach(async () => {
  [journalIsGone, journalIsOther] = [false, false];
  cluster = await memoryStore();
  for (const user of users) await cluster.put(['passwd', account(user)]);
  behind = await Store.open(cutOff(cluster.store.database));
  opened = openRuns({ store: behind, servers: new Servers(behind.database.shared, log), audience, log });
  for (const user of users) opened.runs.finish(opened.runs.begin('rpower', user, 'per-node'), 0);
});
afterEach(async () => {
  await opened.close();
  await behind.close();
  await cluster.close();
});

const hash = governors[1]![1]['password']!;
const otherHash = `${hash.slice(0, -1)}6`;
const account = (username: string, password = hash) => ({ key: 'xcat', username, password });
const remove = (name: string) =>
  cluster.store.change(testOrigin, (head) => {
    const draft = new Draft(head);
    draft.remove('passwd', accountRowKey(name));
    return draft.changes();
  });
/** Whoever writes hears of what others have written. */
const catchUp = () =>
  behind.change(testOrigin, (head) => [
    { table: 'site', key: 'domain', before: head.get('site', 'domain'), after: { key: 'domain', value: 'a.b' } },
  ]);
/** How many runs each of them sees at that server. */
const shown = (): number[] => users.map((user) => opened.runs.list({ limit: 10 }, user, false).length);

test('who has the name of an account that was removed meanwhile does not see its runs', async () => {
  await remove('anna');
  // Whose password was changed is the same as before.
  await cluster.put(['passwd', account('anna')], ['passwd', account('bert', otherHash)]);
  expect(shown()).toEqual([1, 1, 1]);
  await catchUp();
  expect(shown()).toEqual([0, 1, 1]);
});

test('an account that another past has otherwise is somebody else’s', async () => {
  await cluster.put(['passwd', account('anna', otherHash)]);
  journalIsOther = true;
  await catchUp();
  expect(shown()).toEqual([0, 1, 1]);
});

test('nobody sees earlier runs if the journal does not say whose accounts are whose', async () => {
  await cluster.put(['site', { key: 'master', value: '10.0.0.1' }]);
  journalIsGone = true;
  await catchUp();
  expect(shown()).toEqual([0, 0, 0]);
});
