import { createHmac } from 'node:crypto';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sharedLogins } from '../../src/access/shared-logins.ts';
import { createLog } from '../../src/core/log.ts';
import { News } from '../../src/database/news.ts';
import { isAnswered, isLost } from '../../src/database/postgresql/place.ts';
import { PostgresDatabase } from '../../src/database/postgresql/postgresql.ts';
import { Store } from '../../src/database/store.ts';
import { merging } from '../harness/following-store.ts';
import { testOrigin } from '../harness/store.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';

/** What others who can connect to the database, or answer in its place, cannot do, and what a database that goes back in time does. */
let postgres: Postgres;
let name = '';
let count = 0;
const stores: Store[] = [];

beforeAll(async () => {
  postgres = await makePostgres('peers');
  postgres.query('create role stranger login');
});
afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
});
afterAll(() => postgres.remove());

const placeOf = (directory = postgres.directory) => ({
  url: `postgresql://kea@localhost:${postgres.port}/${name}?host=${encodeURIComponent(directory)}`,
});

/** A database of its own for each test. */
function newDatabase(): void {
  name = `peers${++count}`;
  postgres.query(`create database ${name} owner kea`);
}

async function openStore(directory?: string): Promise<Store> {
  const store = await Store.open(await PostgresDatabase.open(placeOf(directory)));
  stores.push(store);
  return store;
}

const put = (store: Store, key: string, value = 'v'): Promise<unknown> =>
  store.change(testOrigin, merging('site', { key, value }));
const keysOf = ({ current }: Store): string[] => current.rows('site').keys();

test('only who may read the tables knows on which channels servers call each other', async () => {
  newDatabase();
  await openStore();
  const heard = postgres.query("select value from muster_meta where name = 'channels'", name);
  expect(heard).toMatch(/^[0-9a-f]{32}$/);
  const asStranger = "set role stranger; select value from muster_meta where name = 'channels'";
  expect(() => postgres.query(asStranger, name)).toThrow(/permission denied/);
});

test('who reads the tables and has not the key of the servers makes them hear nothing', async () => {
  newDatabase();
  const keys = ['one', 'one', 'another'].map((own) => ({
    mac: (text: string) => createHmac('sha256', own).update(text).digest('hex'),
    seal: (clear: string) => clear,
    isSealed: () => true,
  }));
  const heard: string[] = [];
  const opened = await Promise.all(
    keys.map((key) => PostgresDatabase.open(placeOf(), { prepare: () => Promise.resolve(key) })),
  );
  const [listening, other, stranger] = opened;
  listening!.shared.hear((announcement) => heard.push(announcement.name));
  listening!.watch(() => undefined);
  const stored = postgres.query("select value from muster_meta where name = 'channels'", name);
  const announce = (text: string): string => JSON.stringify({ kind: 'cancel-run', name: text, holder: 'x' });
  await expect
    .poll(async () => {
      postgres.query(`select pg_notify('muster_announcements_${stored}', '${announce('reader')}')`, name);
      await stranger!.shared.announce({ kind: 'cancel-run', name: 'stranger', holder: 'x' });
      await other!.shared.announce({ kind: 'cancel-run', name: 'server', holder: 'x' });
      return heard;
    })
    .toContain('server');
  expect([...new Set(heard)]).toEqual(['server']);
  await Promise.all(opened.map((database) => database.close()));
});

test('what no server of this version says is dropped', async () => {
  newDatabase();
  const store = await openStore();
  const { shared } = store.database;
  const log = createLog('silent');
  sharedLogins(shared, 'here', log);
  const told: unknown[] = [];
  new News(shared, 'here', log).hear('topic', (message) => told.push((message as { text: string }).text));
  const secret = postgres.query("select value from muster_meta where name = 'channels'", name);
  const texts = [
    'x',
    'null',
    '{"kind":"run"}',
    '{"kind":"news","name":"x","holder":"y"}',
    '{"kind":"news","name":"[[\\"topic\\",null]]","holder":"y"}',
    '{"kind":"failed-login","name":"x","holder":"y"}',
    '{"kind":"news","name":"[[\\"topic\\",{\\"text\\":\\"heard\\"}]]","holder":"y"}',
  ];
  await expect
    .poll(() => {
      for (const text of texts) postgres.query(`select pg_notify('muster_announcements_${secret}', '${text}')`, name);
      for (const text of ['x', '', '-1', '1e99'])
        postgres.query(`select pg_notify('muster_changes_${secret}', '${text}')`, name);
      return told;
    })
    .toContain('heard');
  const other = await openStore();
  await put(other, 'after');
  await expect.poll(() => keysOf(store)).toEqual(['after']);
});

/** Passes connections on to PostgreSQL. Once `cuts`, no answer comes back after the next commit was passed on. */
async function startCuttingProxy(): Promise<{ directory: string; server: Server; cut(): void }> {
  const directory = mkdtempSync(join(tmpdir(), 'muster-cut-'));
  const socketName = `.s.PGSQL.${postgres.port}`;
  let cuts = false;
  const server = createServer((client: Socket) => {
    const upstream = createConnection(join(postgres.directory, socketName));
    let isCut = false;
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    client.on('data', (data) => {
      if (cuts && data.includes('commit\0')) {
        [cuts, isCut] = [false, true];
        setTimeout(end, 300);
      }
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (!isCut) client.write(data);
    });
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
  });
  await new Promise<void>((resolve) => server.listen(join(directory, socketName), resolve));
  return { directory, server, cut: () => (cuts = true) };
}

test('a commit none of whose answers came is looked up, and not taken for nothing', async () => {
  newDatabase();
  const { directory, server, cut } = await startCuttingProxy();
  const store = await openStore(directory);
  await put(store, 'first');
  cut();
  await put(store, 'second');
  expect(postgres.query("select count(*) from site where key = 'second'", name)).toBe('1');
  expect(keysOf(store)).toEqual(['first', 'second']);
  await stores.splice(0)[0]!.close();
  server.close();
  rmSync(directory, { recursive: true });
});

/** As a restored backup has it: the state after one change, whatever came later. */
const restoreFirst = (): string =>
  postgres.query(
    `delete from site where key <> 'first'; delete from muster_journal where revision > 1;
     delete from muster_sequence where sequence > 1; update muster_meta set value = '1' where name = 'revision'`,
    name,
  );

test('a server follows a database that was restored to an earlier state, and writes on that', async () => {
  newDatabase();
  const store = await openStore();
  for (const key of ['first', 'second', 'third']) await put(store, key);
  restoreFirst();
  await expect.poll(() => keysOf(store)).toEqual(['first']);
  expect(store.head).toBe(store.current);
  await put(store, 'other');
  expect(keysOf(store)).toEqual(['first', 'other']);
  expect(store.current.revision).toBe(2);
});

test('a server that heard nothing for a while notices that the past has become another', async () => {
  newDatabase();
  const [suspended, other] = [await PostgresDatabase.open(placeOf()), await openStore()];
  for (const key of ['first', 'second', 'third']) await put(other, key);
  await suspended.load();
  expect(await suspended.changesAfter(3)).toEqual([]);
  restoreFirst();
  await expect.poll(() => keysOf(other)).toEqual(['first']);
  for (const key of ['new2', 'new3', 'new4', 'new5']) await put(other, key);
  // As long as one that is suspended.
  await pause(3_100);
  expect(await suspended.changesAfter(3)).toBeUndefined();
  await suspended.close();
});

test('a server does not take over a database that is only half restored', async () => {
  newDatabase();
  const store = await openStore();
  for (const key of ['first', 'second']) await put(store, key);
  const key = postgres.query(
    "select conname from pg_constraint where conrelid = 'muster_sequence'::regclass and contype = 'p'",
    name,
  );
  postgres.query(`alter table muster_sequence drop constraint ${key}`, name);
  restoreFirst();
  await expect.poll(() => store.healthy).toBe(false);
  expect(keysOf(store)).toEqual(['first', 'second']);
  postgres.query(`alter table muster_sequence add constraint ${key} primary key (sequence)`, name);
  await expect.poll(() => keysOf(store)).toEqual(['first']);
  await expect.poll(() => store.healthy).toBe(true);
});

test.each([
  [{ code: 'EPIPE' }, true, false],
  [{ code: 'ECONNRESET' }, true, false],
  [{ code: '57P01' }, true, true],
  [{ code: '53300' }, true, true],
  [{ code: '23505' }, false, true],
  [{ message: 'Connection terminated unexpectedly' }, true, false],
])('%j is a lost connection: %j, an answer of PostgreSQL: %j', (error, lost, answered) => {
  expect([isLost(error), isAnswered(error)]).toEqual([lost, answered]);
});

test('a password is not shown to whoever answers in place of PostgreSQL', async () => {
  const heard: Buffer[] = [];
  const cleartext = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(cleartext));
    socket.on('data', (data) => heard.push(data));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const opening = PostgresDatabase.open({ url: `postgresql://muster:very-secret@127.0.0.1:${port}/muster` });
  await expect(opening).rejects.toThrow(/asks for the password in a form that shows it to others/);
  await pause(200);
  expect(Buffer.concat(heard).includes('very-secret')).toBe(false);
  server.close();
});
