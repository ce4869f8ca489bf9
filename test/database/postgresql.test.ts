import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RowChange } from '../../src/database/changeset.ts';
import { Connection } from '../../src/database/postgresql/connection.ts';
import { expectCommitted } from '../../src/database/postgresql/lost-commit.ts';
import { PostgresDatabase } from '../../src/database/postgresql/postgresql.ts';
import type { Snapshot } from '../../src/database/snapshot.ts';
import { SqliteDatabase } from '../../src/database/sqlite/sqlite.ts';
import { Store } from '../../src/database/store.ts';
import { snapshotTables } from '../../src/database/tables.ts';
import { clusterEdits, contents, draftOf } from '../harness/random-changes.ts';
import { scratchDirectory, testOrigin } from '../harness/store.ts';
import { openGate } from '../lab/gate.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';

let postgres: Postgres;
beforeAll(async () => {
  postgres = await makePostgres('several');
});
afterAll(() => postgres?.remove());

let databases = 0;
/** A store of each of so many servers on a new database. */
async function servers(count: number): Promise<Store[]> {
  const name = `d${databases++}`;
  postgres.query(`create database ${name}`);
  const place = { url: postgres.url.replace('/several?', `/${name}?`) };
  const opened = Array.from({ length: count }, async () => Store.open(await PostgresDatabase.open(place)));
  return Promise.all(opened);
}

const site =
  (key: string, value: string) =>
  (head: Snapshot): RowChange[] => [{ table: 'site', key, before: head.get('site', key), after: { key, value } }];
const valueOf = (snapshot: Snapshot, key: string) => snapshot.get('site', key)?.['value'];
const increment = (head: Snapshot) => site('counter', String(Number(valueOf(head, 'counter') ?? 0) + 1))(head);

/** All show the same in the end. */
async function agree(stores: readonly Store[]): Promise<void> {
  const [first, ...others] = stores;
  await expect.poll(() => new Set(stores.map(({ current }) => current.sequence)).size).toBe(1);
  const expected = contents(first!.current, snapshotTables);
  for (const other of others) expect(contents(other.current, snapshotTables)).toEqual(expected);
}

test('stores rows in the same order as SQLite, whatever the change sets of a batch', async () => {
  const directory = scratchDirectory();
  const [ours] = await servers(1);
  const other = await Store.open(await SqliteDatabase.open(join(directory, 'muster.sqlite')));
  for (const edits of fc.sample(fc.array(clusterEdits, { minLength: 8, maxLength: 16 }), 5)) {
    for (const store of [ours!, other]) {
      for (const each of edits) void store.change(testOrigin, (head) => draftOf(head, each).changes());
      await store.flush();
    }
  }
  expect(contents(ours!.current, snapshotTables)).toEqual(contents(other.current, snapshotTables));
  for (const { name } of snapshotTables)
    expect([name, await ours!.database.storedOrder(name)]).toEqual([name, await other.database.storedOrder(name)]);
  await Promise.all([ours!.close(), other.close()]);
  rmSync(directory, { recursive: true });
});

test('servers that all write lose no update, and in the end show the same', async () => {
  const stores = await servers(3);
  const writes = 60;
  await Promise.all(
    stores.map(async (store, server) => {
      for (let i = 0; i < writes; i++) {
        await store.change(testOrigin, increment);
        await store.change(testOrigin, site(`own ${server}`, String(i)));
      }
    }),
  );
  await agree(stores);
  expect(valueOf(stores[0]!.current, 'counter')).toBe(String(stores.length * writes));
  expect(stores.map((_, server) => valueOf(stores[0]!.current, `own ${server}`))).toEqual(stores.map(() => '59'));
  await Promise.all(stores.map((store) => store.close()));
});

test('what was acknowledged is there, and what was refused is not, while connections are cut', async () => {
  const stores = await servers(2);
  const acknowledged = new Set<string>();
  const refused = new Set<string>();
  let isOver = false;
  const writing = stores.map(async (store, server) => {
    for (let i = 0; !isOver; i++) {
      const key = `${server}-${i}`;
      await store.change(testOrigin, site(key, 'x')).then(
        () => acknowledged.add(key),
        () => refused.add(key),
      );
    }
  });
  const cut =
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
  const url = `d${databases - 1}`;
  // On a busy machine some get through only if they are left more time.
  for (let i = 0; i < 15 || acknowledged.size === 0; i++) {
    await pause(4 * i * Math.random());
    postgres.query(cut, url);
  }
  isOver = true;
  await Promise.all(writing);
  for (const store of stores) await store.change(testOrigin, site('last', 'x'));
  await agree(stores);
  const there = [...acknowledged].filter((key) => valueOf(stores[0]!.current, key) === 'x');
  const contrary = [...refused].filter((key) => valueOf(stores[0]!.current, key) !== undefined);
  expect([there.length, contrary]).toEqual([acknowledged.size, []]);
  expect(acknowledged.size).toBeGreaterThan(0);
  await Promise.all(stores.map((store) => store.close()));
});

test('servers hear what others announce, also after their connection was cut', async () => {
  const stores = await servers(2);
  const heard: string[] = [];
  const end = stores[1]!.database.shared.hear(({ kind, name, holder }) => heard.push(`${kind} ${name} of ${holder}`));
  const announce = (name: string) => stores[0]!.database.shared.announce({ kind: 'run', name, holder: 'a' });
  const told = async (name: string) => {
    await announce(name);
    return heard.includes(`run ${name} of a`);
  };
  await expect.poll(() => told('r1')).toBe(true);
  postgres.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where query like '%listen%' and pid <> pg_backend_pid()",
  );
  await expect.poll(() => told('r2')).toBe(true);
  end();
  await Promise.all(stores.map((each) => each.close()));
});

test('a commit of which no answer came is found', async () => {
  const [other] = await servers(1);
  const gate = await openGate({ path: join(postgres.directory, `.s.PGSQL.${postgres.port}`) });
  const url = `postgresql://kea:secret@127.0.0.1:${gate.port}/d${databases - 1}`;
  const store = await Store.open(await PostgresDatabase.open({ url }));
  gate.cutBetween('commit\0', 'COMMIT\0');
  await store.change(testOrigin, site('lost', 'x'));
  expect(valueOf(store.current, 'lost')).toBe('x');
  await agree([store, other!]);
  await Promise.all([store.close(), other!.close()]);
  await gate.close();
});

test('the number of a transaction that another has got after a crash proves nothing', async () => {
  const [store] = await servers(1);
  const place = { url: postgres.url.replace('/several?', `/d${databases - 1}?`) };
  const connection = new Connection(place);
  const transaction = await connection.use(
    async (client) => (await client.query<{ id: string }>('select pg_current_xact_id()::text as id')).rows[0]!.id,
  );
  const cause = new Error('lost');
  const trace = (text: string) => ({ text, values: [] });
  await expectCommitted(connection, { transaction, cause, trace: trace('select 1') });
  await expect(expectCommitted(connection, { transaction, cause, trace: trace('select 1 where false') })).rejects.toBe(
    cause,
  );
  await connection.close();
  await store!.close();
});

test('a server stops to write when another version has changed the form of the database, and the next start is refused', async () => {
  const [older, newer] = await servers(2);
  const name = `d${databases - 1}`;
  await older!.database.claimForm();
  await older!.change(testOrigin, site('before', 'x'));
  await agree([older!, newer!]);
  // As a newer one does it; it goes on to write, and knows what it has found.
  const query = (sql: string): string => postgres.query(sql, name);
  query('alter table muster_journal add remark text');
  query("update muster_meta set value = value || E'\\ncolumn flavour of table nodetype' where name = 'form-parts'");
  query("update muster_meta set value = 'newer' where name = 'form'");
  const refusal = {
    kind: 'unavailable',
    message: expect.stringMatching(/^Another version of muster has changed the form of the database/),
  };
  await expect(older!.change(testOrigin, site('after', 'x'))).rejects.toMatchObject(refusal);
  await expect(newer!.database.claimForm()).rejects.toMatchObject(refusal);
  expect([older!.healthy, valueOf(older!.current, 'before')]).toEqual([false, 'x']);
  await expect(PostgresDatabase.open({ url: postgres.url.replace('/several?', `/${name}?`) })).rejects.toThrow(
    /written by a newer muster \(it has the column flavour of table nodetype\)/,
  );
  await Promise.all([older!.close(), newer!.close()]);
});

test('a database that dies and comes back is used again, and nothing that was acknowledged is lost', async () => {
  const stores = await servers(2);
  await stores[0]!.change(testOrigin, site('before', 'x'));
  await postgres.kill();
  await expect(stores[1]!.change(testOrigin, site('meanwhile', 'x'))).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('Check that PostgreSQL runs there'),
  });
  await expect.poll(() => stores.map(({ healthy }) => healthy)).toEqual([false, false]);
  await postgres.start();
  await expect
    .poll(() =>
      stores[1]!.change(testOrigin, site('after', 'x')).then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  await agree(stores);
  const [store] = stores;
  expect(['before', 'meanwhile', 'after'].map((key) => valueOf(store!.current, key))).toEqual(['x', undefined, 'x']);
  await expect.poll(() => stores.map(({ healthy }) => healthy)).toEqual([true, true]);
  await Promise.all(stores.map((each) => each.close()));
});
