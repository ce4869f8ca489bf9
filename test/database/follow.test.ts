import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ChangeSet, Database } from '../../src/database/database.ts';
import type { Reload } from '../../src/database/feed.ts';
import type { Snapshot } from '../../src/database/snapshot.ts';
import { SqliteDatabase } from '../../src/database/sqlite/sqlite.ts';
import { Store } from '../../src/database/store.ts';
import { merging, type Order, type Shown, shown } from '../harness/following-store.ts';
import { memoryStore, silent, testOrigin, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
beforeEach(async () => {
  cluster = await memoryStore();
  await cluster.put(['nodelist', { node: 'n1', groups: 'all' }]);
});
afterEach(() => cluster.close());

const site = (value: string, store = cluster.store) =>
  store.change(testOrigin, merging('site', { key: 'domain', value }));
const status = (value: string, store = cluster.store) =>
  store.change(testOrigin, merging('nodelist', { node: 'n1', status: value }));
/** What the store shows of the two. */
const seen = (snapshot: Snapshot) => [
  snapshot.get('site', 'domain')?.['value'],
  snapshot.get('nodelist', 'n1')?.['status'],
];
/** Nothing of the journal is left. */
const pruneJournal = () =>
  cluster.store.database.prune({ journalBefore: Date.now() + 60_000, auditBefore: 0, eventsBefore: 0 });

describe('a store in another process', () => {
  let child: ChildProcess;
  let latest: Shown | undefined;
  beforeEach(() => {
    latest = undefined;
    child = fork(join(import.meta.dirname, '../harness/following-store.ts'), [cluster.file], {
      execPath: process.execPath,
      execArgv: [],
    });
    child.on('message', (told: Shown) => (latest = told));
  });
  afterEach(async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.send('close' satisfies Order);
    await ended;
  });

  const showsTheSame = () => expect.poll(() => latest).toEqual(JSON.parse(JSON.stringify(shown(cluster.current))));

  test('follows this one, volatile columns included, and this one follows it', async () => {
    await showsTheSame();
    await site('a.b');
    await showsTheSame();
    await status('booted');
    await showsTheSame();
    child.send({ table: 'site', row: { key: 'domain', value: 'c.d' } } satisfies Order);
    await expect.poll(() => seen(cluster.current)).toEqual(['c.d', 'booted']);
    child.send({ table: 'nodelist', row: { node: 'n1', status: 'alive' } } satisfies Order);
    await expect.poll(() => seen(cluster.current)).toEqual(['c.d', 'alive']);
    await showsTheSame();
  });

  test('that was asleep while the journal was pruned reads all again', async () => {
    await showsTheSame();
    child.kill('SIGSTOP');
    await site('a.b');
    await status('booted');
    await pruneJournal();
    child.kill('SIGCONT');
    await showsTheSame();
    child.send({ table: 'site', row: { key: 'domain', value: 'c.d' } } satisfies Order);
    await expect.poll(() => seen(cluster.current)).toEqual(['c.d', 'booted']);
  });
});

describe('whoever subscribes', () => {
  test('hears of every new state, whoever made it, until that is ended', async () => {
    const other = await Store.open(await SqliteDatabase.open(cluster.file));
    const heard: Snapshot[] = [];
    const end = cluster.store.subscribe((current) => heard.push(current));
    await site('a.b');
    expect(heard).toEqual([cluster.current]);
    await status('booted', other);
    await expect.poll(() => heard.length).toBe(2);
    expect(heard[1]).toBe(cluster.current);
    expect(seen(cluster.current)).toEqual(['a.b', 'booted']);
    end();
    await site('c.d');
    expect(heard).toHaveLength(2);
    await other.close();
  });

  test('is not called when nothing has changed', async () => {
    await site('a.b');
    const heard: Snapshot[] = [];
    cluster.store.subscribe((current) => heard.push(current));
    await site('a.b');
    expect(heard).toEqual([]);
  });
});

test('a revision that somebody else makes is waited for, as long as the signal lets', async () => {
  const other = await Store.open(await SqliteDatabase.open(cluster.file));
  const { revision } = cluster.current;
  const reached = cluster.store.reach(revision + 1, new AbortController().signal);
  await site('a.b', other);
  expect(await reached).toBe(revision + 1);
  const left = new AbortController();
  const never = cluster.store.reach(revision + 2, left.signal);
  left.abort();
  expect(await never).toBe(revision + 1);
  await other.close();
});

describe('whoever follows', () => {
  let end: AbortController;
  beforeEach(() => {
    end = new AbortController();
  });
  afterEach(() => end.abort());

  const follow = (from: number, store = cluster.store) => store.follow(from, end.signal);
  type Following = AsyncGenerator<ChangeSet | Reload, void, undefined>;

  /** The next change sets, by what they set. */
  async function next(following: Following, count: number): Promise<unknown[]> {
    const values: unknown[] = [];
    while (values.length < count) {
      const { value } = await following.next();
      if (!value) break;
      values.push('changes' in value ? Object.values(Object.values(value.changes)[0]![0]![2]!).at(-1) : 'reload');
    }
    return values;
  }

  test('gets what came after, then what comes, in order and with its origin', async () => {
    const { sequence, revision } = cluster.current;
    await site('a');
    await status('b');
    const following = follow(sequence);
    expect((await following.next()).value).toMatchObject({
      sequence: sequence + 1,
      changes: { site: [['domain', null, { key: 'domain', value: 'a' }]] },
      journal: { ...testOrigin, revision: revision + 1 },
    });
    expect((await following.next()).value).toEqual({
      sequence: sequence + 2,
      fence: cluster.current.fence,
      changes: { nodelist: [['n1', {}, { status: 'b' }]] },
      journal: undefined,
    });
    const coming = next(following, 3);
    await site('c');
    await status('d');
    await site('e');
    expect(await coming).toEqual(['c', 'd', 'e']);
  });

  test('hears everything once while others write', async () => {
    const other = await Store.open(await SqliteDatabase.open(cluster.file));
    const followers = Array.from({ length: 3 }, () => next(follow(cluster.current.sequence), 90));
    const count = (store: Store) => async (_: unknown, i: number) => {
      await (i % 3 === 0 ? status(`${i}`, store) : site(`${i}`, store));
    };
    const values = Array.from({ length: 45 }, (_, i) => `${i}`);
    // Each writes a value that nobody else has, so that every write is a change.
    await Promise.all([
      Promise.all(values.map((value, i) => count(cluster.store)(value, i * 2))),
      Promise.all(values.map((value, i) => count(other)(value, i * 2 + 1))),
    ]);
    const [first, ...others] = await Promise.all(followers);
    expect(new Set(first)).toEqual(new Set(Array.from({ length: 90 }, (_, i) => `${i}`)));
    for (const heard of others) expect(heard).toEqual(first);
    await other.close();
  });

  test('and is slow gets all of it later', async () => {
    const following = follow(cluster.current.sequence);
    const first = next(following, 1);
    await site('first');
    await first;
    const large = (value: string) =>
      cluster.store.change(testOrigin, (head) =>
        Array.from({ length: 6_000 }, (_, i) => ({
          table: 'site',
          key: `k${i}`,
          before: head.get('site', `k${i}`),
          after: { key: `k${i}`, value },
        })),
      );
    for (const value of ['second', 'third', 'fourth']) await large(value);
    expect(await next(following, 3)).toEqual(['second', 'third', 'fourth']);
    const last = next(following, 1);
    await status('last');
    expect(await last).toEqual(['last']);
  });

  test.each([
    ['what came after is no longer known', -1],
    ['it has followed another database', 1],
  ])('gets the snapshot instead if %s, and then what comes', async (_title, ahead) => {
    await site('a');
    await pruneJournal();
    const following = follow(cluster.current.sequence + ahead);
    expect((await following.next()).value).toEqual({ snapshot: cluster.current });
    const coming = next(following, 1);
    await site('b');
    expect(await coming).toEqual(['b']);
  });

  test('is told nothing that the store does not show yet', async () => {
    await cluster.close();
    cluster = await memoryStore({ around: silent });
    const other = await Store.open(await SqliteDatabase.open(cluster.file));
    const following = follow(cluster.current.sequence);
    await site('a', other);
    const coming = next(following, 2);
    await site('b');
    expect(await coming).toEqual(['a', 'b']);
    await other.close();
  });

  test('hears no more when it has had enough', async () => {
    const following = follow(cluster.current.sequence);
    const waiting = following.next();
    end.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });
});

test('what others did and cannot be read shows in the health, is told and tried again', async () => {
  let broken = true;
  const failures: unknown[] = [];
  const refusal = new Error('no connection');
  const around = (database: Database): Database => ({
    ...silent(database),
    watch: (changed) => database.watch(changed),
    changesAfter: (sequence) => (broken ? Promise.reject(refusal) : database.changesAfter(sequence)),
  });
  const store = await Store.open(around(await SqliteDatabase.open(cluster.file)), (error) => failures.push(error));
  await site('a.b');
  await expect.poll(() => store.healthy).toBe(false);
  expect(failures).toContain(refusal);
  broken = false;
  await expect.poll(() => seen(store.current)[0]).toBe('a.b');
  await expect.poll(() => store.healthy).toBe(true);
  await store.close();
});
