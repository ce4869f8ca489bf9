import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser, logIn } from '../harness/users.ts';
import { type Gate, openGate } from '../lab/gate.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';

/** The second server hears of the database through the gate: what the first has acknowledged it does not know yet. */
let postgres: Postgres;
let gate: Gate;
let first: TestServer;
let second: TestServer;
let token = '';

beforeAll(async () => {
  postgres = await makePostgres('muster');
  first = await startServer({ environment: { MUSTER_DATABASE: postgres.url } });
  const data = temporaryDirectory();
  cpSync(join(first.data, 'secret.key'), join(data, 'secret.key'));
  gate = await openGate({ path: join(postgres.directory, `.s.PGSQL.${postgres.port}`) });
  const url = new URL(postgres.url);
  url.search = '';
  url.host = `127.0.0.1:${gate.port}`;
  second = await startServer({ environment: { MUSTER_DATABASE: url.href }, data });
  await addUser(first, 'alice');
  await first.ok('POST', '/nodes/n1', { groups: 'all' });
  await first.ok('PUT', '/tables/policy/rows/priority=6', { name: 'alice', rule: 'allow' });
});
afterAll(async () => {
  await Promise.all([first?.stop(), second?.stop()]);
  await gate?.close();
  await postgres?.remove();
});
beforeEach(async () => {
  token = await logIn(first, 'alice');
  await expect.poll(async () => (await second.call('GET', '/nodes/n1', { token })).status).toBe(200);
});

const withPassword = () => ({
  token: null,
  headers: { authorization: `Basic ${Buffer.from('alice:alice-password').toString('base64')}` },
});

it.each<[what: string, method: string, path: string, body?: object]>([
  ['write', 'PUT', '/nodes/n1', { rack: 'r1' }],
  ['send a command to a node', 'PUT', '/nodes/n1/power', { action: 'off' }],
  ['run a command on a node', 'POST', '/nodes/n1/nodeshell', { command: ['true'] }],
  ['change what is outside of the database', 'POST', '/nodes/n1/host'],
])('a token that ended at another server does not %s', async (_what, method, path, body) => {
  const release = gate.hold();
  await first.call('DELETE', '/tokens', { token });
  const asked = second.call(method, path, { token, body });
  await pause(1_000);
  release();
  expect((await asked).status).toBe(401);
});

it('a token that ended at another server gains nothing by waiting for a revision', async () => {
  const revision = Number((await first.call('GET', '/nodes/n1')).headers['x-muster-revision']);
  const headers = { 'x-muster-revision': String(revision + 1) };
  const release = gate.hold();
  await first.call('DELETE', '/tokens', { token });
  await first.ok('PUT', '/nodes/n1', { usercomment: `after ${revision}` });
  const asked = second.call('PUT', '/nodes/n1/power', { token, headers, body: { action: 'off' } });
  await pause(1_000);
  release();
  expect((await asked).status).toBe(401);
});

it('a password that was changed at another server writes nothing', async () => {
  await expect.poll(async () => (await second.call('GET', '/nodes/n1', withPassword())).status).toBe(200);
  const release = gate.hold();
  await first.ok('PUT', '/tables/passwd/rows/key=xcat,username=alice', { password: 'another-password' });
  const asked = second.call('PUT', '/nodes/n1', { ...withPassword(), body: { rack: 'r2' } });
  await pause(1_000);
  release();
  expect((await asked).status).toBe(401);
  await first.ok('PUT', '/tables/passwd/rows/key=xcat,username=alice', { password: 'alice-password' });
});

it('a server that was suspended reads with no token that ended meanwhile', async () => {
  const ended = await Promise.all(Array.from({ length: 6 }, () => logIn(first, 'alice')));
  const read = (each: string) => second.call('GET', '/nodes/n1', { token: each });
  for (const each of ended) await expect.poll(async () => (await read(each)).status).toBe(200);
  second.child.kill('SIGSTOP');
  for (const each of ended) await first.call('DELETE', '/tokens', { token: each });
  // For three seconds a server would trust what it has heard of the database.
  await pause(4_000);
  const asked = ended.map(read);
  second.child.kill('SIGCONT');
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(ended.map(() => 401));
});

it('a command that changes something is refused while nobody knows what others have changed', async () => {
  const release = gate.hold();
  const { status, headers } = await second.call('PUT', '/nodes/n1/power', { token, body: { action: 'off' } });
  expect([status, headers['x-muster-done'], headers['retry-after']]).toEqual([503, 'nothing', '5']);
  release();
});
