import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ended, muster } from '../harness/muster-command.ts';
import { exitOf, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';

// What one of two servers of a database lists while the other one starts, dies, hangs and stops.
const data = temporaryDirectory();
let postgres: Postgres;
let first: TestServer;
let second: TestServer;

interface Listed {
  readonly name: string;
  readonly state: string;
  readonly heard?: string;
  readonly problem?: string;
}

const start = (hostname: string, directory?: string): Promise<TestServer> =>
  startServer({
    environment: { MUSTER_DATABASE: postgres.url },
    hostname,
    ...(directory !== undefined && { data: directory }),
  });
const listed = async (): Promise<Listed[]> => (await first.ok('GET', '/servers')).servers;
const states = async (): Promise<string[]> => (await listed()).map(({ name, state }) => `${name} ${state}`);
const both = ['mn1 connected', 'mn2 connected'];
/** A lease is over after 15 seconds. */
const patient = { timeout: 60_000 };

/** As an administrator would see it. */
function muster1(...words: string[]) {
  return ended(muster, words, {
    HOME: data,
    MUSTER_URL: `https://127.0.0.1:${first.port}`,
    MUSTER_TOKEN: first.token,
    MUSTER_CA: join(first.data, 'tls/ca.pem'),
  });
}

beforeAll(async () => {
  postgres = await makePostgres('muster');
  first = await start('mn1');
  cpSync(join(first.data, 'secret.key'), join(data, 'secret.key'));
  second = await start('mn2', data);
});
afterAll(async () => {
  await first?.stop();
  await postgres?.remove();
});

test('a server that was killed stays listed, with when it was last heard of and what to do', async () => {
  const before = Date.now();
  expect(await states()).toEqual(both);
  await second.kill();
  await expect.poll(states, patient).toEqual(['mn1 connected', 'mn2 gone']);
  const [, gone] = await listed();
  expect(gone).toMatchObject({ listens: [`127.0.0.1:${second.port}`], jobs: 0, nodes: 0 });
  expect(gone!.problem).toMatch(/^It says nothing any more, .* start it again\. .* DELETE \/servers\/mn2\.$/);
  const heard = Date.parse(gone!.heard!);
  expect([heard > before - 60_000, heard <= Date.now()]).toEqual([true, true]);
  const { stdout } = await muster1('servers');
  expect(stdout).toMatch(/^mn2 {2}server {2}gone .*, last heard of \S/m);
  expect(stdout).toMatch(/^ {2}It says nothing any more, .*: muster servers forget mn2\.$/m);
}, 120_000);

test('it is one server again when it is back', async () => {
  second = await start('mn2', data);
  expect(await states()).toEqual(both);
}, 60_000);

test('one that hangs is gone until it goes on', async () => {
  second.child.kill('SIGSTOP');
  await expect.poll(states, patient).toEqual(['mn1 connected', 'mn2 gone']);
  second.child.kill('SIGCONT');
  await expect.poll(states, patient).toEqual(both);
}, 150_000);

test('one that will not come back can be forgotten, and one that is connected cannot', async () => {
  const refused = await first.call('DELETE', '/servers/mn2');
  expect([refused.status, refused.json.error]).toEqual([
    409,
    ['Server mn2 is connected. Stop it there, and it is no longer listed.'],
  ]);
  await second.kill();
  await expect.poll(states, patient).toEqual(['mn1 connected', 'mn2 gone']);
  expect(await muster1('servers', 'forget', 'mn2')).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await states()).toEqual(['mn1 connected']);
  const unknown = await muster1('servers', 'forget', 'mn2');
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('No server "mn2" is listed as gone.') });
}, 120_000);

test('one that is stopped is no longer listed', async () => {
  second = await start('mn2', data);
  expect(await states()).toEqual(both);
  second.client.close();
  second.child.kill('SIGTERM');
  const seen = new Set<string>();
  while (second.child.exitCode === null) for (const state of await states()) seen.add(state);
  expect(await exitOf(second.child)).toBe(0);
  expect([...seen]).not.toContain('mn2 gone');
  expect(await states()).toEqual(['mn1 connected']);
}, 60_000);

test('while the database is away, a server lists itself and says that others are missing', async () => {
  await postgres.kill();
  const [own, ...others] = await listed();
  expect([own!.name, others]).toEqual(['mn1', []]);
  expect(own!.problem).toMatch(/^Other servers are missing here\. The database .* cannot be used: /);
  await postgres.start();
  await expect.poll(async () => (await listed())[0]!.problem, patient).toBeUndefined();
}, 90_000);
