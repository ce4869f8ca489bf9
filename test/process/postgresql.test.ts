import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runMuster, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';

let postgres: Postgres;
let first: TestServer;
let second: TestServer;
const environment = () => ({ MUSTER_DATABASE: postgres.url });

beforeAll(async () => {
  postgres = await makePostgres('muster');
  first = await startServer({ environment: environment() });
  const data = temporaryDirectory();
  cpSync(join(first.data, 'secret.key'), join(data, 'secret.key'));
  second = await startServer({ environment: { ...environment(), TZ: 'Pacific/Auckland' }, data });
});
afterAll(async () => {
  await Promise.all([first?.stop(), second?.stop()]);
  await postgres?.remove();
});

it('what one server acknowledged is to be seen at another, for the same token', async () => {
  await first.ok('POST', '/nodes/n1-n10', { groups: 'all' });
  const written = await first.call('PUT', '/nodes/n1', { body: { rack: 'r1' } });
  const revision = String(written.headers['x-muster-revision']);
  const read = await second.call('GET', '/nodes/n1', {
    token: first.token,
    headers: { 'x-muster-revision': revision },
  });
  expect([read.status, read.json.n1.rack]).toEqual([200, 'r1']);
  await second.ok('PUT', '/nodes/n2', { rack: 'r2' });
  await expect.poll(async () => (await first.ok('GET', '/nodes/n2')).n2.rack).toBe('r2');
});

it('a token ends at the same time at a server in another time zone', async () => {
  await first.ok('PUT', '/globalconf/attrs/tokenexpiredays', { tokenexpiredays: '0.25' });
  const body = { userName: 'root', userPW: 'cluster' };
  const { json, headers } = await first.call('POST', '/tokens', { body, token: null });
  expect(json.token.expire).toMatch(/^\d+-\d+-\d+ \d+:\d+:\d+$/);
  const revision = String(headers['x-muster-revision']);
  const { status, json: shown } = await second.call('GET', '/tokens', {
    token: json.token.id,
    headers: { 'x-muster-revision': revision },
  });
  expect(status).toBe(200);
  const current = shown.tokens.find((token: { current: boolean }) => token.current);
  expect(Math.abs(Date.parse(current.created) - Date.now())).toBeLessThan(600_000);
  expect(current.expire).not.toBe(json.token.expire);
  await first.ok('DELETE', '/globalconf/attrs/tokenexpiredays');
});

it('servers that write to the same nodes at once lose nothing', async () => {
  const writes = Array.from({ length: 40 }, (_, i) => {
    const server = i % 2 === 0 ? first : second;
    return server.ok('PUT', `/nodes/n${1 + (i % 10)}`, { [`usercomment`]: `c${i}`, rack: `r${i}` });
  });
  await Promise.all(writes);
  await first.ok('PUT', '/nodes/n1', { room: 'last' });
  const { changes } = await first.ok('GET', '/changes?limit=100');
  const ids = changes.map(({ id }: { id: number }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  await expect.poll(async () => (await second.ok('GET', '/nodes/n1')).n1.room).toBe('last');
  expect((await second.call('GET', '/nodes/n1-n10')).text).toBe((await first.call('GET', '/nodes/n1-n10')).text);
});

it('a server without the key of the others, or with another one, does not start', async () => {
  const data = temporaryDirectory();
  const without = await runMuster(['--data', data, '--listen', '127.0.0.1:0'], environment());
  expect(without).toMatchObject({ code: 1, output: expect.stringContaining('Copy secret.key of another server to') });
  const other = await startServer();
  mkdirSync(join(data, 'x'), { recursive: true });
  cpSync(join(other.data, 'secret.key'), join(data, 'secret.key'));
  await other.stop();
  const wrong = await runMuster(['--data', data, '--listen', '127.0.0.1:0'], environment());
  expect(wrong).toMatchObject({ code: 1, output: expect.stringContaining('is not the key of the database') });
});

it('a database that cannot be reached, or is none, is named', async () => {
  const start = (url: string) =>
    runMuster(['--data', temporaryDirectory(), '--listen', '127.0.0.1:0'], { MUSTER_DATABASE: url });
  const closed = await start('postgresql://muster:geheim@127.0.0.1:9/muster');
  expect(closed.code).toBe(1);
  expect(closed.output).toContain('The database 127.0.0.1:9/muster cannot be used');
  expect(closed.output).toContain('Check that PostgreSQL runs there');
  expect(closed.output).not.toContain('geheim');
  const missing = await start(postgres.url.replace('/muster?', '/nosuch?'));
  expect(missing.output).toContain('Make it there (createdb)');
  const backup = await runMuster(['--data', first.data, 'backup', '/tmp/never'], environment());
  expect(backup).toMatchObject({ code: 1, output: expect.stringContaining('pg_dump') });
});

it('while the database is away reads go on, writes are refused with 503, and both end when it is back', async () => {
  await postgres.kill();
  expect((await first.ok('GET', '/nodes/n1')).n1.groups).toBe('all');
  const refused = await first.call('PUT', '/nodes/n1', { body: { rack: 'lost' } });
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
  expect(refused.json.error[0]).toContain('cannot be used');
  expect((await first.call('GET', '/health')).status).toBe(503);
  await expect
    .poll(async () => Number((await second.call('GET', '/nodes/n1')).headers['x-muster-age']))
    .toBeGreaterThan(5);
  expect((await second.call('GET', '/health')).json).toEqual({ status: 'down', age: expect.any(Number) });
  await postgres.start();
  await expect
    .poll(async () => (await first.call('PUT', '/nodes/n1', { body: { rack: 'back' } })).status, { interval: 500 })
    .toBe(200);
  await expect.poll(async () => (await second.ok('GET', '/nodes/n1')).n1.rack).toBe('back');
  await expect.poll(async () => (await first.call('GET', '/health')).status).toBe(200);
  await expect.poll(async () => (await second.call('GET', '/nodes/n1')).headers['x-muster-age']).toBeUndefined();
});

it('a database that only reads, as a replica does, is named as such, and is used again when it writes', async () => {
  const setting = 'alter system set default_transaction_read_only';
  postgres.query(`${setting} = on`);
  postgres.query('select pg_reload_conf()');
  const write = () => first.call('PUT', '/nodes/n1', { body: { room: 'r8' } });
  await expect.poll(async () => (await write()).json?.error?.[0]).toContain('It only reads, as a replica does');
  expect(await write()).toMatchObject({ status: 503, headers: { 'retry-after': '5', 'x-muster-done': 'nothing' } });
  expect((await first.ok('GET', '/nodes/n1')).n1.groups).toBe('all');
  postgres.query(`${setting} = off`);
  postgres.query('select pg_reload_conf()');
  await expect.poll(async () => (await write()).status).toBe(200);
});

it('a server that was suspended says how old its answers are until it has heard from the database', async () => {
  second.child.kill('SIGSTOP');
  await first.ok('PUT', '/nodes/n1', { rack: 'meanwhile' });
  await pause(8_000);
  const asked = second.call('GET', '/nodes/n1');
  const written = second.call('PUT', '/nodes/n1', { body: { room: 'r7' } });
  second.child.kill('SIGCONT');
  const { json, headers } = await asked;
  if (json.n1.rack !== 'meanwhile') expect(Number(headers['x-muster-age'])).toBeGreaterThan(5);
  expect((await written).status).toBe(200);
  await expect
    .poll(async () => (await first.ok('GET', '/nodes/n1')).n1)
    .toMatchObject({ rack: 'meanwhile', room: 'r7' });
});
