import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { AuditRecord } from '../../src/database/database.ts';
import { SqliteDatabase } from '../../src/database/sqlite/sqlite.ts';
import { Store } from '../../src/database/store.ts';
import type { Row } from '../../src/database/tables.ts';
import { outside, queryOutside } from '../harness/raw-sqlite.ts';
import { scratchDirectory } from '../harness/store.ts';

let directory: string;
let file: string;
beforeEach(() => {
  directory = scratchDirectory();
  file = join(directory, 'muster.sqlite');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const record = (number: number, more: Partial<AuditRecord> = {}): AuditRecord => ({
  time: number,
  user: 'root',
  client: '127.0.0.1',
  command: 'lsdef',
  noderange: `n${number}`,
  args: '',
  status: 'Allowed',
  request: `r${number}`,
  ...more,
});

async function opened<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = await Store.open(await SqliteDatabase.open(file));
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const read = (store: Store, where: Row = {}, after = 0, limit = 100_000): Promise<Row[]> =>
  store.database.readLog({ table: 'auditlog', where, after, limit });

test('records are read page by page across blocks without a gap or a double', async () => {
  await opened(async (store) => {
    for (let batch = 0; batch < 30; batch++) {
      for (let i = 1; i <= 100; i++) store.auditSoon(record(batch * 100 + i));
      await store.flush();
    }
    for (let i = 3_001; i <= 5_500; i++) store.auditSoon(record(i));
    await store.flush();
    const numbers: number[] = [];
    for (let after = 0; ; ) {
      const page = await read(store, {}, after, 333);
      if (page.length === 0) break;
      numbers.push(...page.map((row) => Number(row['recid'])));
      after = numbers.at(-1)!;
    }
    expect(numbers).toEqual(Array.from({ length: 5_500 }, (_, i) => i + 1));
  });
});

test('values with quotes, backslashes and other scripts are found and read as they were', async () => {
  const odd = ['a "b" \\ c', 'é 😀', '","', ''];
  await opened(async (store) => {
    for (const [i, args] of odd.entries()) store.auditSoon(record(i, { args }));
    await store.flush();
    for (const args of odd) expect((await read(store, { args })).map((row) => row['args'])).toEqual([args]);
    expect(await read(store, { recid: '2' })).toMatchObject([{ args: odd[1] }]);
    expect(await read(store, { clienttype: 'ws' })).toHaveLength(odd.length);
    expect(await read(store, { userid: 'nobody' })).toEqual([]);
  });
});

test('the view shows the same rows to whoever opens the file', async () => {
  const rows = await opened(async (store) => {
    for (let i = 1; i <= 3; i++) await store.audit(record(i));
    return read(store);
  });
  const shown = queryOutside(file, 'select * from auditlog order by recid');
  expect(shown.map(({ disable, ...row }) => ({ ...row, recid: String(row['recid']), gone: disable }))).toEqual(
    rows.map((row) => ({ ...row, gone: null })),
  );
});

test('numbers go on after everything was pruned', async () => {
  await opened(async (store) => {
    await store.audit(record(1));
    await store.database.prune({ journalBefore: 0, auditBefore: 1_000, eventsBefore: 0 });
    expect(await read(store)).toEqual([]);
    await store.audit(record(2));
    expect((await read(store)).map((row) => row['recid'])).toEqual(['2']);
  });
});

test('a log of one row per record, as it was before, is taken over', async () => {
  await opened(async () => undefined);
  outside(file, (database) => {
    database.exec(`
      drop view auditlog; drop table muster_audit; delete from muster_meta where name = 'audit';
      drop table muster_removed; drop table muster_sequence; drop table muster_shared; alter table muster_journal drop column reverts;
      delete from kysely_migration where name >= '0002';
      create table auditlog (recid integer primary key autoincrement, audittime text, userid text, clientname text,
        clienttype text, command text, noderange text, args text, status text, comments text, disable text);
      insert into auditlog values (7, '2026-01-02T03:04:05.678Z', 'root', '::1', 'ws', 'rpower', 'n1', 'a "b"', 'Allowed', 'r7', null);
    `);
  });
  await opened(async (store) => {
    await store.audit(record(8));
    const rows = await read(store);
    expect(rows.map(({ recid, audittime, args, comments }) => [recid, audittime, args, comments])).toEqual([
      ['7', '2026-01-02T03:04:05.678Z', 'a "b"', 'r7'],
      ['8', '1970-01-01T00:00:00.008Z', '', 'r8'],
    ]);
  });
});
