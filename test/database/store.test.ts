import { spawnSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RowChange } from '../../src/database/changeset.ts';
import type { Database } from '../../src/database/database.ts';
import { Draft } from '../../src/database/draft.ts';
import type { Snapshot } from '../../src/database/snapshot.ts';
import { SqliteDatabase } from '../../src/database/sqlite/sqlite.ts';
import { Store } from '../../src/database/store.ts';
import type { Row } from '../../src/database/tables.ts';
import { commitsInLog, outside, queryOutside } from '../harness/raw-sqlite.ts';
import { auditRecord, memoryStore, silent, testOrigin, type TestStore } from '../harness/store.ts';

const nothing = (database: Database): Database => database;
/** What stands between the store of the next test and its database. */
let around = nothing;
let cluster: TestStore;
beforeEach(async () => {
  cluster = await memoryStore({ around });
});
afterEach(() => cluster.close());

const site =
  (key: string, value: string) =>
  (head: Snapshot): RowChange[] => {
    const draft = new Draft(head, cluster.services.seal);
    draft.merge('site', key, { key, value });
    return draft.changes();
  };
/** Counts up, so that it shows what it was computed on. */
const increment = (head: Snapshot): RowChange[] =>
  site('counter', String(Number(head.get('site', 'counter')?.['value'] ?? 0) + 1))(head);

const stored = (key: string) => queryOutside(cluster.file, `select value from site where key = '${key}'`)[0]?.['value'];
const journal = () => queryOutside(cluster.file, 'select * from muster_journal order by revision');
const unavailable = expect.objectContaining({ name: 'Fault', kind: 'unavailable' });

/** Batches with audit records are not written before that. */
const withRecordsAfter = (moment: Promise<void>) =>
  memoryStore({
    around: (database) => ({
      ...silent(database),
      write: async (batch) => {
        if (batch.audit.length > 0) await moment;
        return database.write(batch);
      },
    }),
  });

describe('change sets', () => {
  test('resolve with their own revision when they are on disk and can be read', async () => {
    const before = cluster.current.revision;
    const { revision, snapshot } = await cluster.store.change(testOrigin, site('domain', 'a.b'));
    expect(revision).toBe(before + 1);
    expect(snapshot.get('site', 'domain')).toEqual({ key: 'domain', value: 'a.b' });
    expect(cluster.current).toBe(snapshot);
    expect(stored('domain')).toBe('a.b');
  });

  test('that wait together share commits, each with its own revision and journal row', async () => {
    const before = cluster.current.revision;
    const commits = commitsInLog(cluster.file);
    const all = await Promise.all(Array.from({ length: 200 }, () => cluster.store.change(testOrigin, increment)));
    expect(all.map(({ revision }) => revision)).toEqual(all.map((_, i) => before + 1 + i));
    expect(all.map(({ snapshot }) => snapshot.get('site', 'counter')?.['value'])).toEqual(
      all.map((_, i) => `${i + 1}`),
    );
    expect(journal().filter(({ revision }) => Number(revision) > before)).toHaveLength(200);
    expect(commitsInLog(cluster.file) - commits).toBeLessThan(10);
    expect(stored('counter')).toBe('200');
  });

  test('one whose computation throws is refused with what it threw and the others go through', async () => {
    const refusal = new Error('no');
    const results = await Promise.allSettled([
      cluster.store.change(testOrigin, increment),
      cluster.store.change(testOrigin, () => {
        throw refusal;
      }),
      cluster.store.change(testOrigin, increment),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: refusal });
    expect(stored('counter')).toBe('2');
  });

  test('one that is computed in slices lets others read, and those that come later are computed after it', async () => {
    let slices = 0;
    const long = cluster.store.change(testOrigin, function* (head) {
      for (const until = performance.now() + 100; performance.now() < until; slices++) yield;
      return increment(head);
    });
    const later = [cluster.store.change(testOrigin, increment), cluster.store.change(testOrigin, increment)];
    const before = slices;
    await new Promise(setImmediate);
    expect(slices).toBeGreaterThanOrEqual(before);
    expect(cluster.current.get('site', 'counter')).toBeUndefined();
    const all = await Promise.all([long, ...later]);
    expect(all.map(({ snapshot }) => snapshot.get('site', 'counter')?.['value'])).toEqual(['1', '2', '3']);
    expect(stored('counter')).toBe('3');
  });

  test('one that fails in a later slice is refused alone', async () => {
    const refusal = new Error('no');
    const results = await Promise.allSettled([
      cluster.store.change(testOrigin, function* () {
        for (const until = performance.now() + 20; performance.now() < until; ) yield;
        throw refusal;
      }),
      cluster.store.change(testOrigin, increment),
    ]);
    expect(results).toMatchObject([{ reason: refusal }, { status: 'fulfilled' }]);
    expect(stored('counter')).toBe('1');
  });

  test('one in slices is computed again when somebody else commits meanwhile, and flush waits for it', async () => {
    let begun = 0;
    const long = cluster.store.change(testOrigin, function* (head) {
      begun++;
      const others = Number(head.get('site', 'others')?.['value'] ?? 0);
      for (const until = performance.now() + (others === 0 ? 5_000 : 20); performance.now() < until; ) yield;
      return increment(head);
    });
    const other = await Store.open(await SqliteDatabase.open(cluster.file));
    await other.change(testOrigin, site('others', '1'));
    await other.close();
    await cluster.store.flush();
    expect(stored('counter')).toBe('1');
    expect(begun).toBe(2);
    expect((await long).snapshot.get('site', 'others')?.['value']).toBe('1');
  });

  test('one in slices goes on while somebody else observes, and both are there', async () => {
    await cluster.put(['nodelist', { node: 'n1', groups: 'all' }]);
    const other = await Store.open(await SqliteDatabase.open(cluster.file));
    let begun = 0;
    let isObserved = false;
    const long = cluster.store.change(testOrigin, function* (head) {
      begun++;
      while (!isObserved) yield;
      return nodelist({ groups: 'other' })(head);
    });
    await other.observe(testOrigin, nodelist({ status: 'booted' }));
    await expect.poll(() => cluster.current.get('nodelist', 'n1')?.['status']).toBe('booted');
    isObserved = true;
    const { snapshot } = await long;
    expect(snapshot.get('nodelist', 'n1')).toEqual({ node: 'n1', groups: 'other', status: 'booted' });
    expect(begun).toBe(1);
    await other.close();
  });

  test('that change nothing have no revision and no journal row, but wait for what they saw', async () => {
    const before = cluster.current.revision;
    const first = cluster.store.change(testOrigin, site('domain', 'a.b'));
    const { revision } = await cluster.store.change(testOrigin, site('domain', 'a.b'));
    expect(revision).toBe(before + 1);
    expect(stored('domain')).toBe('a.b');
    await first;
    expect(journal()).toHaveLength(before + 1);
  });

  test('readers keep the snapshot they began with', async () => {
    await cluster.store.change(testOrigin, increment);
    const old = cluster.current;
    await cluster.store.change(testOrigin, increment);
    expect(old.get('site', 'counter')?.['value']).toBe('1');
    expect(cluster.current.get('site', 'counter')?.['value']).toBe('2');
  });

  test('readers do not see what is not on disk yet, the next change set does', async () => {
    const pending = cluster.store.change(testOrigin, increment);
    expect(cluster.current.get('site', 'counter')).toBeUndefined();
    expect(cluster.store.head.get('site', 'counter')?.['value']).toBe('1');
    await pending;
  });
});

describe('the journal', () => {
  test('tells who changed what, from where, by which command and run', async () => {
    const origin = { user: 'alice', client: '10.0.0.9', command: 'chdef', run: 'r-1' };
    const began = Date.now();
    await cluster.store.change(origin, site('domain', 'a.b'));
    await cluster.store.change(origin, site('domain', 'c.d'));
    const [made, changed] = journal().slice(-2);
    expect(made).toMatchObject({ ...origin, changes: '{"site":[["domain",null,{"key":"domain","value":"a.b"}]]}' });
    expect(changed).toMatchObject({ changes: '{"site":[["domain",{"value":"a.b"},{"value":"c.d"}]]}' });
    expect(changed!['time']).toBeGreaterThanOrEqual(began);
  });

  test('holds secrets encrypted', async () => {
    await cluster.put(['ipmi', { node: 'n1', bmc: 'b', password: 'topsecret' }]);
    expect(JSON.stringify(journal())).not.toContain('topsecret');
    const sealed = cluster.current.get('ipmi', 'n1')!['password']!;
    expect(cluster.box.open(sealed, 'ipmi.password')).toBe('topsecret');
  });
});

const nodelist =
  (columns: Row) =>
  (head: Snapshot): RowChange[] => {
    const draft = new Draft(head, cluster.services.seal);
    draft.merge('nodelist', 'n1', { node: 'n1', ...columns });
    return draft.changes();
  };

describe('volatile columns', () => {
  test('are stored without a journal row or a revision', async () => {
    await cluster.put(['nodelist', { node: 'n1', groups: 'all' }]);
    const { revision } = cluster.current;
    const rows = journal().length;
    await cluster.store.change(testOrigin, nodelist({ status: 'booted' }));
    expect(cluster.current.get('nodelist', 'n1')).toEqual({ node: 'n1', groups: 'all', status: 'booted' });
    expect(cluster.current.revision).toBe(revision);
    expect(journal()).toHaveLength(rows);
    expect(queryOutside(cluster.file, 'select status from nodelist')).toEqual([{ status: 'booted' }]);
  });

  test.each([
    ['with other columns', { status: 'booted', groups: 'other' }],
    ['in a row that is new', { status: 'booted', node: 'n2' }],
  ])('%s they have both', async (_title, columns) => {
    await cluster.put(['nodelist', { node: 'n1', groups: 'all' }]);
    const { revision } = cluster.current;
    const rows = journal().length;
    await cluster.store.change(testOrigin, nodelist(columns));
    expect([cluster.current.revision, journal().length]).toEqual([revision + 1, rows + 1]);
  });
});

const record = auditRecord(0);

describe('when the database cannot be written', () => {
  const refuseJournal = () =>
    outside(cluster.file, (database) =>
      database.exec("create trigger full before insert on muster_journal begin select raise(abort, 'no space'); end"),
    );
  const refuseAudit = "create trigger full before insert on muster_audit begin select raise(abort, 'no space'); end";
  const allowAgain = () => outside(cluster.file, (database) => database.exec('drop trigger full'));

  test('waiting change sets are refused as unavailable, change nothing, and later ones work again', async () => {
    await cluster.store.change(testOrigin, increment);
    const { revision } = cluster.current;
    refuseJournal();
    const results = await Promise.allSettled([
      cluster.store.change(testOrigin, increment),
      cluster.store.change(testOrigin, site('domain', 'a.b')),
    ]);
    expect(results.map((result) => result.status === 'rejected' && result.reason)).toEqual([unavailable, unavailable]);
    expect(cluster.store.healthy).toBe(false);
    expect([cluster.current.revision, cluster.store.head.revision]).toEqual([revision, revision]);
    expect([stored('counter'), stored('domain')]).toEqual(['1', undefined]);
    allowAgain();
    await expect(cluster.store.change(testOrigin, increment)).resolves.toMatchObject({ revision: revision + 1 });
    expect(cluster.store.healthy).toBe(true);
    expect(stored('counter')).toBe('2');
  });

  test('a change set made while the failing one was on its way is computed again without it', async () => {
    refuseJournal();
    const failing = cluster.store.change(testOrigin, increment);
    // The first batch is handed over in this turn of the event loop; the next change set builds on it.
    await new Promise((resolve) => setImmediate(resolve));
    allowJournalAfter(failing);
    const following = cluster.store.change(testOrigin, increment);
    await expect(failing).rejects.toEqual(unavailable);
    await following;
    expect(stored('counter')).toBe('1');
  });

  function allowJournalAfter(failing: Promise<unknown>): void {
    void failing.catch(allowAgain);
  }

  test('audit records that somebody waits for are refused too', async () => {
    outside(cluster.file, (database) => database.exec(refuseAudit));
    await expect(cluster.store.audit(record)).rejects.toEqual(unavailable);
    await cluster.store.flush();
  });

  test('audit records that nobody waits for are tried again by themselves', async () => {
    outside(cluster.file, (database) => database.exec(refuseAudit));
    cluster.store.auditSoon(record);
    await expect.poll(() => cluster.store.healthy).toBe(false);
    allowAgain();
    const count = () => queryOutside(cluster.file, 'select count(*) as n from auditlog')[0]!['n'];
    await expect.poll(count).toBe(1);
    await expect.poll(() => cluster.store.healthy).toBe(true);
  });

  test('a log file that cannot grow, as on a full disk, fails the write and leaves no half of it', async () => {
    await cluster.store.change(testOrigin, increment);
    const ignore = () => {};
    process.on('SIGXFSZ', ignore);
    const limitFiles = (size: string) => {
      const { status, stderr } = spawnSync('prlimit', ['--pid', String(process.pid), `--fsize=${size}:`], {
        encoding: 'utf8',
      });
      expect([status, stderr]).toEqual([0, '']);
    };
    limitFiles('4096');
    try {
      await expect(cluster.store.change(testOrigin, increment)).rejects.toEqual(unavailable);
    } finally {
      limitFiles('unlimited');
      process.off('SIGXFSZ', ignore);
    }
    await cluster.store.change(testOrigin, increment);
    expect(stored('counter')).toBe('2');
    expect(queryOutside(cluster.file, 'pragma integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  });

  test('after it is closed, a write is refused instead of waiting for ever', async () => {
    const other = await memoryStore();
    const { store } = other;
    await other.close();
    await expect(store.change(testOrigin, site('domain', 'a.b'))).rejects.toEqual(unavailable);
  });
});

test('each change set is settled once, also if records cannot be written while one is computed in slices', async () => {
  await cluster.close();
  let fail: (error: Error) => void = () => undefined;
  const failing = new Promise<void>((_, reject) => (fail = reject));
  cluster = await withRecordsAfter(failing);
  const lost = expect(cluster.store.audit(record)).rejects.toEqual(unavailable);
  await new Promise(setImmediate);
  const empty = cluster.store.change(testOrigin, () => []);
  const long = cluster.store.change(testOrigin, function* (head) {
    for (const until = performance.now() + 100; performance.now() < until; ) yield;
    return increment(head);
  });
  fail(new Error('the disk is gone'));
  await lost;
  const before = (await empty).revision;
  expect((await long).revision).toBe(before + 1);
  await cluster.store.flush();
  expect(stored('counter')).toBe('1');
});

describe('when somebody else commits in between', () => {
  let other: Store;
  beforeAll(() => void (around = silent));
  afterAll(() => void (around = nothing));
  beforeEach(async () => {
    other = await Store.open(await SqliteDatabase.open(cluster.file));
  });
  afterEach(() => other.close());

  test('all waiting change sets are computed again on the newer state and both are there', async () => {
    await other.change(testOrigin, increment);
    await other.change(testOrigin, site('other', 'here'));
    const before = cluster.current.revision;
    let computed = 0;
    const counting = (head: Snapshot) => {
      computed++;
      return increment(head);
    };
    const results = await Promise.all([
      cluster.store.change(testOrigin, counting),
      cluster.store.change(testOrigin, counting),
    ]);
    expect(results.map(({ revision }) => revision)).toEqual([before + 3, before + 4]);
    expect(computed).toBe(4);
    expect(stored('counter')).toBe('3');
    expect(cluster.current.get('site', 'other')?.['value']).toBe('here');
  });

  test('one is settled once, also if not all that they did can be read at first', async () => {
    await cluster.close();
    let reads = 0;
    const losing = (database: Database): Database => ({
      ...silent(database),
      changesAfter: (sequence) => (++reads === 2 ? Promise.reject(new Error('lost')) : database.changesAfter(sequence)),
    });
    cluster = await memoryStore({ around: losing });
    const another = await Store.open(await SqliteDatabase.open(cluster.file));
    await another.change(testOrigin, increment);
    await cluster.store.change(testOrigin, increment);
    expect(reads).toBeGreaterThan(1);
    expect(stored('counter')).toBe('2');
    await another.close();
  });

  test('a change set that the newer state does not allow is refused with its own error', async () => {
    const onlyOnce = (head: Snapshot) => {
      if (head.get('site', 'counter')) throw new Error('taken');
      return increment(head);
    };
    await other.change(testOrigin, increment);
    await expect(cluster.store.change(testOrigin, onlyOnce)).rejects.toThrow('taken');
    await cluster.store.change(testOrigin, increment);
    expect(stored('counter')).toBe('2');
  });

  test('writes without a revision see the clash too', async () => {
    await cluster.put(['nodelist', { node: 'n1', groups: 'all' }]);
    await other.change(testOrigin, increment).then(() => other.change(testOrigin, increment));
    await cluster.store.change(testOrigin, (head) =>
      nodelist({ status: `after ${head.get('site', 'counter')?.['value']}` })(head),
    );
    expect(queryOutside(cluster.file, 'select status from nodelist')).toEqual([{ status: 'after 2' }]);
  });

  test('what others have observed is taken over, and nothing is computed again for it', async () => {
    await cluster.put(['nodelist', { node: 'n1', groups: 'all' }]);
    await expect.poll(() => other.current.get('nodelist', 'n1')).toBeDefined();
    await other.observe(testOrigin, nodelist({ status: 'booted' }));
    let computed = 0;
    const grouped = (groups: string) => (head: Snapshot) => {
      computed++;
      return nodelist({ groups })(head);
    };
    const all = await Promise.all(['a', 'b'].map((group) => cluster.store.change(testOrigin, grouped(group))));
    expect(computed).toBe(2);
    expect(all[1]!.snapshot.get('nodelist', 'n1')).toEqual({ node: 'n1', groups: 'b', status: 'booted' });
    expect(queryOutside(cluster.file, 'select groups, status from nodelist')).toEqual([
      { groups: 'b', status: 'booted' },
    ]);
    await expect.poll(() => other.current.get('nodelist', 'n1')).toEqual(cluster.current.get('nodelist', 'n1'));
  });

  test('what is observed of a row that they have removed meanwhile changes nothing', async () => {
    await cluster.put(['nodelist', { node: 'n1', groups: 'all' }]);
    await expect.poll(() => other.current.get('nodelist', 'n1')).toBeDefined();
    await other.change(testOrigin, (head) => [
      { table: 'nodelist', key: 'n1', before: head.get('nodelist', 'n1'), after: undefined },
    ]);
    await cluster.store.observe(testOrigin, (head) => [
      {
        table: 'nodelist',
        key: 'n1',
        before: head.get('nodelist', 'n1'),
        after: { ...head.get('nodelist', 'n1'), status: 'booted' },
      },
    ]);
    expect(cluster.current.get('nodelist', 'n1')).toBeUndefined();
    expect(queryOutside(cluster.file, 'select * from nodelist')).toEqual([]);
    await expect.poll(() => other.current.sequence).toBe(cluster.current.sequence);
    expect(other.current.get('nodelist', 'n1')).toBeUndefined();
  });

  test('a change set so large that the journal keeps it in parts is read whole', async () => {
    const rows = Array.from({ length: 100_001 }, (_, i) => ({ key: `key${i}`, value: 'x' }));
    await other.change(testOrigin, () =>
      rows.map((after) => ({ table: 'site', key: after.key, before: undefined, after })),
    );
    const parts = queryOutside(cluster.file, 'select count(*) as n from muster_journal where revision = 2')[0]!['n'];
    expect(parts).toBeGreaterThan(1);
    await cluster.store.change(testOrigin, increment);
    expect(cluster.current.rows('site').size).toBe(rows.length + 1);
  });

  test.each(['muster_journal', 'muster_sequence'])(
    'if the database no longer tells what they did (%s), all is read again, and what waits is computed on that',
    async (table) => {
      await cluster.put(['site', { key: 'kept', value: 'here' }]);
      await other.change(testOrigin, increment);
      await other.change(testOrigin, increment);
      outside(cluster.file, (database) =>
        database.exec(`delete from ${table} where revision < (select max(revision) from ${table})`),
      );
      const { revision } = other.current;
      await expect(cluster.store.change(testOrigin, increment)).resolves.toMatchObject({ revision: revision + 1 });
      expect(stored('counter')).toBe('3');
      await cluster.store.change(testOrigin, increment);
      expect(cluster.current.get('site', 'counter')?.['value']).toBe('4');
      expect(cluster.current.get('site', 'kept')?.['value']).toBe('here');
    },
  );

  test('audit records that nobody waits for are written also if the change sets they came with are refused then', async () => {
    await cluster.close();
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    cluster = await withRecordsAfter(held);
    const onlyOnce = (head: Snapshot) => {
      if (head.get('site', 'counter')) throw new Error('taken');
      return increment(head);
    };
    const another = await Store.open(await SqliteDatabase.open(cluster.file));
    await another.change(testOrigin, increment);
    await another.close();
    cluster.store.auditSoon(record);
    const refused = expect(cluster.store.change(testOrigin, onlyOnce)).rejects.toThrow('taken');
    // Longer than such records wait of themselves.
    await new Promise((resolve) => setTimeout(resolve, 700));
    release();
    await refused;
    const count = () => queryOutside(cluster.file, 'select count(*) as n from auditlog')[0]!['n'];
    await expect.poll(count).toBe(1);
  });

  test('audit records are written whatever they did, without reading it', async () => {
    await other.change(testOrigin, increment);
    const before = cluster.current;
    await cluster.store.audit(record);
    expect(cluster.current).toBe(before);
    expect(queryOutside(cluster.file, 'select count(*) as n from auditlog')).toEqual([{ n: 1 }]);
  });
});
