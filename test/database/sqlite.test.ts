import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { NewSet, Retention } from '../../src/database/database.ts';
import { SqliteDatabase } from '../../src/database/sqlite/sqlite.ts';
import { Store } from '../../src/database/store.ts';
import { tables } from '../../src/database/tables.ts';
import { outside, queryOutside } from '../harness/raw-sqlite.ts';
import { auditRecord, scratchDirectory, testOrigin } from '../harness/store.ts';

let directory: string;
let file: string;
beforeEach(() => {
  directory = scratchDirectory();
  file = join(directory, 'muster.sqlite');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function opened<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = await Store.open(await SqliteDatabase.open(file));
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const setSite = (store: Store, key: string, value: string) =>
  store.change(testOrigin, (head) => {
    const before = head.get('site', key);
    return [{ table: 'site', key, before, after: { key, value } }];
  });

describe('what was written', () => {
  test('is found again when the database orders texts otherwise than we do', async () => {
    const keys = ['a', '\uff5e', '😀', 'é'];
    await opened(async (store) => {
      for (const key of keys) await setSite(store, key, `of ${key}`);
    });
    const read = await opened(async (store) => store.current);
    expect(keys.map((key) => read.get('site', key)?.['value'])).toEqual(keys.map((key) => `of ${key}`));
    expect(read.rows('site').keys()).toEqual([...keys].sort());
  });

  test('is in the main file alone after a clean stop', async () => {
    await opened((store) => setSite(store, 'a', 'b'));
    expect(existsSync(`${file}-wal`)).toBe(false);
    const copy = join(directory, 'copy.sqlite');
    copyFileSync(file, copy);
    expect(queryOutside(copy, 'select value from site')).toEqual([{ value: 'b' }]);
  });

  test('is kept in a write-ahead log', async () => {
    await opened((store) => setSite(store, 'a', 'b'));
    expect(queryOutside(file, 'pragma journal_mode')).toEqual([{ journal_mode: 'wal' }]);
  });
});

describe('the form of the database', () => {
  test('has every table with its columns', async () => {
    await opened(async () => {});
    for (const { name, columns, log } of tables.values()) {
      const present = queryOutside(file, `select name from pragma_table_info('${name}')`).map((row) => row['name']);
      expect(new Set(present), name).toEqual(new Set(log ? columns : [...columns, 'muster_ordinal']));
    }
  });

  test('gains the tables and columns that it lacks, and keeps what it has', async () => {
    await opened((store) => setSite(store, 'domain', 'a.b'));
    outside(file, (database) =>
      database.exec(
        'drop table zone; alter table site drop column comments; alter table site drop column muster_ordinal',
      ),
    );
    await opened(async (store) => {
      expect(store.current.get('site', 'domain')).toEqual({ key: 'domain', value: 'a.b' });
      await store.change(testOrigin, () => [
        { table: 'zone', key: 'z', before: undefined, after: { zonename: 'z', comments: 'new' } },
        { table: 'site', key: 'a', before: undefined, after: { key: 'a', comments: 'new' } },
      ]);
      expect(await store.database.storedOrder('site')).toEqual(['domain', 'a']);
    });
    expect(queryOutside(file, "select comments from zone union all select comments from site where key = 'a'")).toEqual(
      [{ comments: 'new' }, { comments: 'new' }],
    );
  });

  test('of a newer program is refused and stays untouched', async () => {
    await opened((store) => setSite(store, 'domain', 'a.b'));
    outside(file, (database) =>
      database.exec("insert into kysely_migration (name, timestamp) values ('9999-later', '2030-01-01')"),
    );
    outside(file, (database) => database.exec('drop table zone'));
    await expect(SqliteDatabase.open(file)).rejects.toThrow(/newer muster.*9999-later/);
    expect(queryOutside(file, "select name from sqlite_master where name = 'zone'")).toEqual([]);
  });

  test('that is no database is refused', async () => {
    await expect(SqliteDatabase.open(directory)).rejects.toThrow();
  });
});

describe('the audit log', () => {
  test('takes records that may come later with the next write, or soon by themselves', async () => {
    await opened(async (store) => {
      const count = () => queryOutside(file, 'select count(*) as n from auditlog')[0]!['n'];
      store.auditSoon(auditRecord(1));
      expect(count()).toBe(0);
      await setSite(store, 'a', 'b');
      expect(count()).toBe(1);
      store.auditSoon(auditRecord(2));
      await expect.poll(count).toBe(2);
    });
  });
});

test('what is older than its retention goes, the revision stays', async () => {
  const retention: Retention = { journalBefore: 2_000, auditBefore: 3_000, eventsBefore: 4_000 };
  await opened(async (store) => {
    for (let i = 0; i < 5; i++) await setSite(store, 'counter', String(i));
    for (let i = 0; i < 5; i++) await store.audit(auditRecord(i * 1_000));
    outside(file, (database) => {
      database.exec('update muster_journal set time = (revision - 1) * 1000');
      for (let i = 0; i < 5; i++)
        database.prepare('insert into eventlog (eventtime) values (?)').run(new Date(i * 1_000).toISOString());
    });
    await store.database.prune(retention);
  });
  const remaining = (table: string) => queryOutside(file, `select count(*) as n from ${table}`)[0]!['n'];
  expect(['muster_journal', 'auditlog', 'eventlog'].map(remaining)).toEqual([3, 2, 1]);
  expect((await opened(async (store) => store.current)).revision).toBe(5);
});

test('of volatile changes the latest are kept', async () => {
  const status = (rows: number, sequence: number): NewSet => ({
    changes: { nodelist: Array.from({ length: rows }, (_, i) => [`n${i}`, {}, { status: `s${sequence}` }]) },
    journal: undefined,
    isObservation: false,
  });
  const database = await SqliteDatabase.open(file);
  const write = (base: number, rows: number) => database.write({ base, sets: [status(rows, base + 1)], audit: [] });
  const told = async (after: number) => (await database.changesAfter(after))?.map(({ sequence }) => sequence);
  for (const base of [0, 1, 2]) await write(base, 50_000);
  expect([await told(0), await told(1)]).toEqual([undefined, [2, 3]]);
  await write(3, 100_001);
  expect([await told(2), await told(3)]).toEqual([undefined, [4]]);
  await database.close();
});
