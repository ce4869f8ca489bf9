import { setTimeout as pause } from 'node:timers/promises';
import { Client, Pool } from 'pg';
import { pino } from 'pino';
import { Type } from 'typebox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { throttleLimits } from '../../src/access/throttle.ts';
import type { Fault } from '../../src/core/errors.ts';
import { createLog } from '../../src/core/log.ts';
import { sharedLogins } from '../../src/access/shared-logins.ts';
import { Connection } from '../../src/database/postgresql/connection.ts';
import { clientConfig, explained } from '../../src/database/postgresql/place.ts';
import { PostgresDatabase } from '../../src/database/postgresql/postgresql.ts';
import { PostgresShared } from '../../src/database/postgresql/shared-records.ts';
import { HeldNames } from '../../src/database/held-names.ts';
import { Servers } from '../../src/database/servers.ts';
import { SqliteDatabase } from '../../src/database/sqlite/sqlite.ts';
import { join } from 'node:path';
import { scratchDirectory } from '../harness/store.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';

let postgres: Postgres;
let databases: PostgresDatabase[];
beforeAll(async () => {
  postgres = await makePostgres('servers');
  databases = await Promise.all([1, 2].map(() => PostgresDatabase.open({ url: postgres.url })));
  for (const database of databases) database.watch(() => undefined);
});
afterAll(async () => {
  await Promise.all(databases.map((database) => database.close()));
  await postgres.remove();
});

const log = createLog('silent');
const times = { lease: 6_000, renewal: 200, margin: 300 };
const note = { name: 'a', version: '1', since: '2026-01-01T00:00:00.000Z', listens: ['127.0.0.1:8443'] };

/** A server on each of the two connections that keeps one lease; `begun` has those that do the work. */
async function twoServers(lease: string) {
  const begun: string[] = [];
  const servers = databases.map(({ shared }) => new Servers(shared, log, times));
  for (const server of servers) {
    await server.start(note);
    server.leases.keep(lease, () => {
      begun.push(server.id);
      return () => begun.splice(begun.indexOf(server.id), 1);
    });
  }
  await expect.poll(() => begun).toHaveLength(1);
  const holder = servers.find(({ id }) => begun[0] === id)!;
  return { begun, servers, holder, other: servers.find((server) => server !== holder)! };
}

test('one of all servers does the work, and another one when that ends', async () => {
  const { begun, holder, other } = await twoServers('hooks');
  await pause(2 * times.lease);
  expect(begun).toEqual([holder.id]);
  expect((await other.list()).map(({ id }) => id)).toEqual([other.id, holder.id]);
  expect([await other.isAlive(holder.id), await other.isAlive('nobody')]).toEqual([true, false]);
  await holder.close();
  await expect.poll(() => begun).toEqual([other.id]);
  expect(await other.list()).toEqual([{ ...note, machine: other.machine, id: other.id, jobs: 0, nodes: 0 }]);
  await other.close();
  expect(begun).toEqual([]);
});

test('a server that is not able to do the work leaves it to another', async () => {
  const able = new Set([0, 1]);
  const begun: number[] = [];
  const servers = databases.map(({ shared }) => new Servers(shared, log, times));
  for (const [i, server] of servers.entries()) {
    await server.start(note);
    const begin = () => {
      begun.push(i);
      return () => begun.splice(begun.indexOf(i), 1);
    };
    server.leases.keep('able', begin, () => able.has(i));
  }
  await expect.poll(() => begun).toHaveLength(1);
  const [first] = begun;
  able.delete(first!);
  await expect.poll(() => begun).toEqual([1 - first!]);
  await Promise.all(servers.map((server) => server.close()));
});

test('a server that cannot renew its lease ends the work before another begins it', async () => {
  const { begun, servers } = await twoServers('housekeeping');
  await postgres.kill();
  await expect.poll(() => begun, { timeout: 60_000 }).toEqual([]);
  await postgres.start();
  await expect.poll(() => begun, { timeout: 60_000 }).toHaveLength(1);
  await Promise.all(servers.map((server) => server.close()));
});

const heldNames = (id: string, data: string, machine = 'machine') => {
  const { shared } = databases[data === '/first' ? 0 : 1]!;
  const parts = { shared, servers: { id, name: 'mn', machine }, data, log };
  return new HeldNames<{ readonly run: string }>('provisioning', { run: Type.String() }, parts);
};
const notes = (run: string, ...names: string[]) => new Map(names.map((name) => [name, { run }]));
const provisioned = (): string =>
  postgres.query("select string_agg(name, ' ' order by name) from muster_shared where kind = 'provisioning'");

test('names that one server holds are refused at another, until they are released or the server starts again', async () => {
  const [first, second] = [heldNames('id0', '/first'), heldNames('id1', '/second')];
  expect(await first.take(notes('r1', 'n1', 'n2', 'n3'))).toEqual(new Map());
  const taken = { run: 'r1', server: 'mn', data: '/first', machine: 'machine' };
  expect(await second.take(notes('r2', 'n3', 'n4'))).toEqual(new Map([['n3', taken]]));
  expect(await second.others(['n1', 'n4'])).toEqual(new Map([['n1', taken]]));
  first.release('n3');
  await first.released();
  expect(await second.take(notes('r2', 'n3'))).toEqual(new Map());
  // The clone of a machine has its name and paths.
  await heldNames('id2', '/first', 'another machine').resume();
  expect(provisioned()).toBe('n1 n2 n3 n4');
  await heldNames('id3', '/first').resume();
  expect(await second.take(notes('r3', 'n1', 'n2'))).toEqual(new Map());
  for (const name of ['n1', 'n2', 'n3', 'n4']) second.release(name);
  await second.released();
  expect(provisioned()).toBe('');
});

test("a name that is released while another server claims it becomes that server's", async () => {
  const place = { url: postgres.url };
  const other = { kind: 'provisioning', name: 'n1', holder: 'id0', body: '{}' };
  await databases[0]!.shared.claimAll([other], 60_000);
  let meanwhile: (() => Promise<void>) | undefined = () => databases[0]!.shared.release(other);
  class Claims extends Connection {
    override async use<T>(work: (client: Client) => Promise<T>): Promise<T> {
      const done = await super.use(work);
      const happens = meanwhile;
      meanwhile = undefined;
      await happens?.();
      return done;
    }
  }
  const [pool, claims] = [new Pool(clientConfig(place)), new Claims(place)];
  const shared = new PostgresShared(place, { pool, claims, channel: 'unused', hear: () => () => undefined });
  const own = ['n1', 'n2'].map((name) => ({ ...other, name, holder: 'id1' }));
  expect(await shared.claimAll(own, 60_000)).toEqual([]);
  expect(provisioned()).toBe('n1 n2');
  await shared.releaseAll('provisioning', ['n1', 'n2'], 'id1');
  await Promise.all([pool.end(), claims.close()]);
});

test('names that a server of another version holds are refused, and kept by the next start', async () => {
  const strange = { kind: 'provisioning', name: 'n1', holder: 'later', body: 'no JSON' };
  await databases[1]!.shared.claim(strange, 60_000);
  const held = heldNames('id0', '/first');
  await held.resume();
  expect(await held.take(notes('r1', 'n1'))).toEqual(new Map([['n1', undefined]]));
  await databases[1]!.shared.release(strange);
});

test('what a killed server held is free after a minute, also when the clock of the database was set back', async () => {
  const left = () =>
    Number(postgres.query("select until - extract(epoch from now()) * 1000 from muster_shared where name = 'n1'"));
  const killed = { kind: 'provisioning', name: 'n1', holder: 'killed', body: '{}' };
  await databases[1]!.shared.claim(killed, 3_600_000);
  const held = heldNames('id0', '/first');
  expect([...(await held.take(notes('r1', 'n1'))).keys()]).toEqual(['n1']);
  expect(left()).toBeLessThanOrEqual(60_000);
  await databases[1]!.shared.release(killed);
});

test('alone on its database a server does the work at once', async () => {
  const database = await SqliteDatabase.open(join(scratchDirectory(), 'muster.sqlite'));
  const server = new Servers(database.shared, log);
  await server.start(note);
  const begun: string[] = [];
  server.leases.keep('hooks', () => {
    begun.push('hooks');
    return () => begun.pop();
  });
  const { id, machine } = server;
  expect([begun, await server.list()]).toEqual([['hooks'], [{ ...note, machine, id, jobs: 0, nodes: 0 }]]);
  await server.close();
  await database.close();
  expect(begun).toEqual([]);
});

test('failed logins count at every server', async () => {
  const [first, second] = databases.map(({ shared }, i) => sharedLogins(shared, `server ${i}`, log));
  const guess = async (logins: typeof first) => logins!.check('eve', 'wrong', '10.0.0.9', undefined, false, {});
  const kindOf = (logins: typeof first) =>
    guess(logins).then(
      () => 'none',
      ({ kind }: Fault) => kind,
    );
  expect(await kindOf(second)).toBe('unauthenticated');
  // The network's share of failures is used up at one server only.
  for (let i = 0; i < throttleLimits.networkFailures; i++) {
    const announcement = { kind: 'failed-login', name: JSON.stringify([`bob${i}`, '10.0.0.9']), holder: 'server 0' };
    await databases[0]!.shared.announce(announcement);
  }
  await expect.poll(() => kindOf(second)).toBe('unavailable');
  expect(await kindOf(first)).toBe('unauthenticated');
});

test('a failed login is announced', async () => {
  const heard: string[] = [];
  const end = databases[1]!.shared.hear(({ kind, name }) => heard.push(`${kind} ${name}`));
  const logins = sharedLogins(databases[0]!.shared, 'server 9', log);
  await expect((async () => logins.check('mallory', 'wrong', '10.0.0.8', undefined, false, {}))()).rejects.toThrow();
  await expect.poll(() => heard).toContain('failed-login ["mallory","10.0.0.8"]');
  end();
});

test('a server that was killed is no longer there for others once its data directory has the next one', async () => {
  const [killed, other, next] = [0, 1, 0].map((i) => new Servers(databases[i]!.shared, log, times));
  const own = { ...note, name: killed!.name };
  await killed!.replaceEarlier('/var/lib/a');
  await killed!.start(own);
  await other!.replaceEarlier('/var/lib/b');
  await other!.start(own);
  const known = async (): Promise<boolean[]> => [await next!.isAlive(killed!.id), await next!.isAlive(other!.id)];
  await next!.replaceEarlier('/var/lib/c');
  expect(await known()).toEqual([true, true]);
  const [record] = await databases[0]!.shared.list({ kind: 'server', holder: killed!.id, limit: 1 });
  await killed!.close();
  // As if it had been killed.
  await databases[0]!.shared.put([record!], 60_000);
  await next!.replaceEarlier('/var/lib/a');
  expect(await known()).toEqual([false, true]);
  // The clone of a machine has its name and paths.
  await databases[0]!.shared.put([record!], 60_000);
  const clone = new Servers(databases[1]!.shared, log, times, 'another machine');
  await clone.replaceEarlier('/var/lib/a');
  expect(await known()).toEqual([true, true]);
  await databases[0]!.shared.remove('server', [killed!.id]);
  await other!.close();
});

test('what a killed server had ends soon, also when the clock of the database was set back', async () => {
  const server = new Servers(databases[0]!.shared, log, times);
  await server.start(note);
  // As it looks after the clock was set back by an hour.
  const far = 3_600_000;
  await databases[1]!.shared.put([{ kind: 'server', name: 'killed', holder: 'killed', body: '{}' }], far);
  for (const kind of ['lease', 'work'])
    await databases[1]!.shared.claim({ kind, name: 'hooks', holder: 'killed', body: '' }, far);
  const begun: string[] = [];
  server.leases.keep('hooks', () => {
    begun.push('hooks');
    return () => begun.pop();
  });
  await expect.poll(() => begun, { timeout: 60_000 }).toEqual(['hooks']);
  expect(await server.isAlive('killed')).toBe(false);
  expect(await databases[0]!.shared.get('work', 'hooks')).toBeUndefined();
  await server.close();
});

test('a server of another version is left out of the list, and keeps nobody from starting', async () => {
  const lines: string[] = [];
  const server = new Servers(databases[0]!.shared, pino({}, { write: (line: string) => lines.push(line) }), times);
  const strange = ['{}', 'no JSON'].map((body, i) => ({ kind: 'server', name: `strange ${i}`, holder: 'z', body }));
  await databases[0]!.shared.put(strange, 60_000);
  await server.replaceEarlier('/var/lib/a');
  await server.start(note);
  expect(await server.list()).toMatchObject([{ id: server.id }]);
  expect(lines.filter((line) => line.includes('cannot read a record of kind server'))).toHaveLength(1);
  await databases[0]!.shared.remove('server', ['strange 0', 'strange 1']);
  await server.close();
});

test('a server renews its claims and follows the others however many read', async () => {
  const [database, other] = databases;
  const locker = new Client({ ...clientConfig({ url: postgres.url }), idle_in_transaction_session_timeout: 0 });
  await locker.connect();
  await locker.query('begin; lock table site in access exclusive mode');
  // They wait for the lock, and have all connections of readers.
  const readings = Array.from({ length: 20 }, () => database!.storedOrder('site'));
  const claim = { kind: 'lease', name: 'reading', holder: 'a', body: '' };
  expect(await database!.shared.claim(claim, 60_000)).toBe(true);
  expect(await database!.changesAfter(0)).toEqual([]);
  await database!.shared.release(claim);
  expect(await other!.shared.get('lease', 'reading')).toBeUndefined();
  await locker.query('rollback');
  await locker.end();
  await Promise.allSettled(readings);
});

test.each([
  ['disk_full', 'Free space on the disk of PostgreSQL.'],
  ['out_of_memory', 'The log of PostgreSQL says what it lacks.'],
  ['query_canceled', 'The log of PostgreSQL says what it lacks.'],
])('a database with %s says what to do', async (state, advice) => {
  const client = new Client(clientConfig({ url: postgres.url }));
  await client.connect();
  const failed = client.query(`do $$ begin raise exception 'no' using errcode = '${state}'; end $$`);
  const error = await failed.catch((reason: unknown) => explained(reason, { url: postgres.url }));
  expect(error).toMatchObject({ kind: 'unavailable', message: expect.stringContaining(advice) });
  await client.end();
});

test('a server that did not say good-bye is told as lost, one that did is not, and a lost one can be forgotten', async () => {
  const [killed, other] = databases.map(({ shared }) => new Servers(shared, log, times));
  await other!.start(note);
  await killed!.start({ ...note, name: 'killed' }, () => ({ jobs: 1, nodes: 2 }));
  const names = async (): Promise<unknown> => {
    const { servers, lost, gap } = await other!.listAll();
    return { servers: servers.map(({ name }) => name), lost: lost.map(({ name }) => name), gap };
  };
  expect(await names()).toEqual({ servers: ['a', 'killed'], lost: [], gap: undefined });
  await expect(other!.forget('killed')).rejects.toMatchObject({ kind: 'conflict' });
  const records = await Promise.all(
    ['server', 'server-trace'].map((kind) => databases[0]!.shared.list({ kind, holder: killed!.id, limit: 1 })),
  );
  await killed!.close();
  expect(await names()).toEqual({ servers: ['a'], lost: [], gap: undefined });
  // As if it had been killed, and its lease is over.
  await databases[0]!.shared.put(records[1]!, 60_000);
  expect(await names()).toEqual({ servers: ['a'], lost: ['killed'], gap: undefined });
  expect(Date.parse((await other!.listAll()).lost[0]!.heard!)).toBeGreaterThan(Date.now() - 60_000);
  await expect(other!.forget('nobody')).rejects.toMatchObject({ kind: 'unknown-object' });
  await other!.forget('killed');
  expect(await names()).toEqual({ servers: ['a'], lost: [], gap: undefined });
  await other!.close();
});

test('a server that was killed stays lost until it has been started again', async () => {
  const [killed, other, failed, next] = [0, 1, 0, 0].map((i) => new Servers(databases[i]!.shared, log, times));
  const own = { ...note, name: killed!.name };
  await other!.replaceEarlier('/var/lib/b');
  await other!.start(own);
  await killed!.replaceEarlier('/var/lib/a');
  await killed!.start(own);
  const records = await databases[0]!.shared.list({ kind: 'server-trace', holder: killed!.id, limit: 1 });
  await killed!.close();
  // As if it had been killed.
  await databases[0]!.shared.put(records, 60_000);
  const lost = async (): Promise<string[]> => (await other!.listAll()).lost.map(({ id }) => id);
  await failed!.replaceEarlier('/var/lib/a');
  await failed!.close();
  expect(await lost()).toEqual([killed!.id]);
  await next!.replaceEarlier('/var/lib/a');
  expect(await lost()).toEqual([killed!.id]);
  await next!.start(own);
  const { servers } = await other!.listAll();
  expect([await lost(), servers.map(({ id }) => id)]).toEqual([[], [other!.id, next!.id]]);
  expect(await databases[0]!.shared.get('server-trace', killed!.id)).toBeUndefined();
  await Promise.all([other!.close(), next!.close()]);
});
