import * as fc from 'fast-check';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AuditRecord, Retention } from '../../src/database/database.ts';
import { Snapshot } from '../../src/database/snapshot.ts';
import { SqliteDatabase } from '../../src/database/sqlite/sqlite.ts';
import { Store } from '../../src/database/store.ts';
import { snapshotTables, tables } from '../../src/database/tables.ts';
import { clusterEdits, contents, draftOf } from '../harness/random-changes.ts';
import { outside, queryOutside } from '../harness/raw-sqlite.ts';
import { scratchDirectory, testOrigin } from '../harness/store.ts';

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
  test('is read back as it was, whatever the changes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(clusterEdits, { minLength: 8, maxLength: 16 }), async (sequence) => {
        const written = await opened(async (store) => {
          for (const edits of sequence) void store.change(testOrigin, (head) => draftOf(head, edits).changes());
          await store.flush();
          return store.current;
        });
        const read = await opened(async (store) => store.current);
        expect(contents(read, snapshotTables)).toEqual(contents(written, snapshotTables));
        expect(read.revision).toBe(written.revision);
        for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
      }),
      { numRuns: 4 },
    );
  });

  test('is found again when the database orders texts otherwise than we do', async () => {
    const keys = ['a', '\uff5e', '😀', 'é'];
    await opened(async (store) => {
      for (const key of keys) await setSite(store, key, `of ${key}`);
    });
    const read = await opened(async (store) => store.current);
    expect(keys.map((key) => read.get('site', key)?.['value'])).toEqual(keys.map((key) => `of ${key}`));
    expect(read.rows('site').keys()).toEqual([...keys].sort());
  });

  test('is kept in a write-ahead log', async () => {
    await opened((store) => setSite(store, 'a', 'b'));
    expect(queryOutside(file, 'pragma journal_mode')).toEqual([{ journal_mode: 'wal' }]);
  });
});

describe('the form of the database', () => {
  test('has every table with its columns', async () => {
    await opened(async () => {});
    for (const { name, columns } of tables.values()) {
      const present = queryOutside(file, `select name from pragma_table_info('${name}')`).map((row) => row['name']);
      expect(new Set(present), name).toEqual(new Set(columns));
    }
  });

  test('gains the tables and columns that it lacks, and keeps what it has', async () => {
    await opened((store) => setSite(store, 'domain', 'a.b'));
    outside(file, (database) => database.exec('drop table zone; alter table site drop column comments'));
    await opened(async (store) => {
      expect(store.current.get('site', 'domain')).toEqual({ key: 'domain', value: 'a.b' });
      await store.change(testOrigin, () => [
        { table: 'zone', key: 'z', before: undefined, after: { zonename: 'z', comments: 'new' } },
        { table: 'site', key: 'x', before: undefined, after: { key: 'x', comments: 'new' } },
      ]);
    });
    expect(queryOutside(file, "select comments from zone union all select comments from site where key = 'x'")).toEqual(
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

const record = (time: number, user = 'alice'): AuditRecord => ({
  time,
  user,
  client: '10.0.0.9',
  command: 'rpower',
  noderange: 'n1',
  args: 'on',
  status: 'Allowed',
  request: 'q-1',
});

describe('the audit log', () => {
  test('holds what was recorded, with the request in the comments', async () => {
    await opened(async (store) => {
      await store.audit(record(Date.UTC(2026, 0, 2, 3, 4, 5)));
      const rows = await store.database.readLog({ table: 'auditlog', where: {}, after: 0, limit: 10 });
      expect(rows).toEqual([
        {
          recid: '1',
          audittime: '2026-01-02T03:04:05.000Z',
          userid: 'alice',
          clientname: '10.0.0.9',
          clienttype: 'ws',
          command: 'rpower',
          noderange: 'n1',
          args: 'on',
          status: 'Allowed',
          comments: 'q-1',
        },
      ]);
    });
  });

  test('takes records that may come later with the next write, or soon by themselves', async () => {
    await opened(async (store) => {
      const count = () => queryOutside(file, 'select count(*) as n from auditlog')[0]!['n'];
      store.auditSoon(record(1));
      expect(count()).toBe(0);
      await setSite(store, 'a', 'b');
      expect(count()).toBe(1);
      store.auditSoon(record(2));
      await expect.poll(count, { timeout: 5_000 }).toBe(2);
    });
  });

  test('is written in order also in hundreds, and read by what rows equal', async () => {
    await opened(async (store) => {
      for (let i = 0; i < 321; i++) store.auditSoon(record(i, i % 2 === 0 ? 'alice' : 'bob'));
      await store.flush();
      const read = (after: number, limit: number) =>
        store.database.readLog({ table: 'auditlog', where: { userid: 'bob' }, after, limit });
      expect(await read(0, 1_000)).toHaveLength(160);
      expect((await read(10, 3)).map((row) => row['recid'])).toEqual(['12', '14', '16']);
    });
  });
});

test('what is older than its retention goes, the revision stays', async () => {
  const retention: Retention = { journalBefore: 2_000, auditBefore: 3_000, eventsBefore: 4_000 };
  await opened(async (store) => {
    for (let i = 0; i < 5; i++) await setSite(store, 'counter', String(i));
    for (let i = 0; i < 5; i++) await store.audit(record(i * 1_000));
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

test('an empty database is read as an empty snapshot', async () => {
  const { current } = await opened(async (store) => store);
  expect(contents(current, snapshotTables)).toEqual(contents(Snapshot.empty, snapshotTables));
});
