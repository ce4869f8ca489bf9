import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EventClient } from '../harness/events.ts';
import { ended, muster } from '../harness/muster-command.ts';
import { exitOf, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';
import type { Step } from '../lab/toil/work.ts';

// Two servers of one database: whatever the first one does, the second one shows.
const main = join(import.meta.dirname, '../lab/toil/server.ts');
const scratch = temporaryDirectory();
const flag = (name: string): string => join(scratch, name);
let postgres: Postgres;
let first: TestServer;
let second: TestServer;

beforeAll(async () => {
  postgres = await makePostgres('muster');
  const environment = { MUSTER_DATABASE: postgres.url };
  first = await startServer({ environment, main });
  const data = temporaryDirectory();
  cpSync(join(first.data, 'secret.key'), join(data, 'secret.key'));
  second = await startServer({ environment, main, data });
});
afterAll(async () => {
  await second?.stop();
  await postgres?.remove();
  rmSync(scratch, { recursive: true, force: true });
});

async function begin(server: TestServer, name: string, steps: readonly Step[], token = server.token): Promise<string> {
  const reply = await server.call('POST', `/toil/${name}`, {
    body: { steps },
    headers: { Prefer: 'respond-async' },
    token,
  });
  expect([reply.status, reply.text]).toEqual([202, '']);
  return String(reply.headers['x-muster-run']);
}
const stateAt = async (server: TestServer, id: string): Promise<string> =>
  (await server.ok('GET', `/runs/${id}`)).state;
const heard = (events: EventClient, run: string, state: string) =>
  events.event((data) => data.run === run && data.state === state);

test('a run is known, followed and heard of at the other server, from its begin to its end', async () => {
  const events = await EventClient.open(second, { query: { kinds: 'run' } });
  await events.ready();
  const id = await begin(first, 'image', [
    { tell: 'half of it' },
    { progress: [1, 2] },
    { wait: flag('go') },
    { tell: 'all' },
  ]);
  // Nobody has to wait for that.
  expect(await second.ok('GET', `/runs/${id}`)).toMatchObject({ id, command: 'toil', user: 'root', state: 'running' });
  expect((await second.ok('GET', '/runs?state=running')).runs).toEqual([expect.objectContaining({ id })]);
  expect((await heard(events, id, 'begun')).data).toMatchObject({ kind: 'run', command: 'toil', user: 'root' });
  expect((await heard(events, id, 'running')).data.progress).toMatchObject({ done: 1, line: 'half of it' });
  const environment = {
    HOME: scratch,
    MUSTER_URL: `https://127.0.0.1:${second.port}`,
    MUSTER_TOKEN: second.token,
    MUSTER_CA: join(second.data, 'tls/ca.pem'),
  };
  const attached = ended(muster, ['runs', 'attach', id], environment);
  writeFileSync(flag('go'), '');
  expect(await attached).toEqual({ code: 0, stdout: 'half of it\nall\n', stderr: '' });
  expect((await heard(events, id, 'finished')).data).toMatchObject({ errorcode: 0 });
  events.close();
  const [shown, own] = await Promise.all([second, first].map((server) => server.call('GET', `/runs/${id}`)));
  expect(shown!.text).toBe(own!.text);
});

test('what one server works on is refused by the other, which can cancel it', async () => {
  const id = await begin(first, 'image', [{ wait: flag('never') }]);
  const refused = await second.call('POST', '/toil/image', { body: { steps: [] } });
  expect(refused.status).toBe(409);
  expect(refused.json.error[0]).toMatch(
    /^User "root" has been working on toil image with toil since .*Z at server \S+, run /,
  );
  expect(refused.json.error[0]).toContain(id);
  await second.ok('DELETE', `/runs/${id}`);
  await expect.poll(() => stateAt(second, id)).toBe('cancelled');
  expect(await stateAt(first, id)).toBe('cancelled');
  const again = await second.call('DELETE', `/runs/${id}`);
  expect([again.status, again.json.error[0]]).toEqual([403, `Run ${id} has ended; there is nothing to cancel.`]);
  expect(await second.ok('POST', '/toil/image', { steps: [{ say: 'free' }] })).toEqual(['free']);
});

test('only its user and those with full rights see a run at the other server, and no later account of that name', async () => {
  const account = '/tables/passwd/rows/key=xcat,username=';
  const make = (name: string) => first.ok('PUT', `${account}${name}`, { password: `${name}s-own` });
  const logIn = async (userName: string): Promise<string> =>
    (await first.ok('POST', '/tokens', { userName, userPW: `${userName}s-own` }, { token: null })).token.id;
  await Promise.all([make('anna'), make('bert')]);
  await first.ok('POST', '/policy/5', { name: 'anna', commands: 'toil', rule: 'allow' });
  const anna = await logIn('anna');
  const bert = await logIn('bert');
  const id = await begin(first, 'hers', [{ wait: flag('never') }], anna);
  const seen = async (token: string): Promise<number> => {
    const { headers } = await first.call('GET', '/nodes');
    const known = { 'x-muster-revision': String(headers['x-muster-revision']) };
    return (await second.call('GET', `/runs/${id}`, { token, headers: known })).status;
  };
  expect([await seen(anna), await seen(bert), await seen(second.token)]).toEqual([200, 404, 200]);
  expect((await second.call('DELETE', `/runs/${id}`, { token: bert })).status).toBe(404);
  expect((await second.ok('GET', '/runs?command=toil', undefined, { token: bert })).runs).toEqual([]);
  await first.ok('DELETE', `${account}anna`);
  await make('anna');
  expect(await seen(await logIn('anna'))).toBe(404);
  await second.ok('DELETE', `/runs/${id}`);
  await expect.poll(() => stateAt(second, id)).toBe('cancelled');
});

test('a server that was suspended keeps no result of work that another has begun meanwhile', {
  timeout: 120_000,
}, async () => {
  const id = await begin(first, 'contested', [{ wait: flag('suspended') }, { profile: 'of-the-first' }]);
  first.child.kill('SIGSTOP');
  await expect.poll(() => stateAt(second, id), { timeout: 60_000, interval: 500 }).toBe('interrupted');
  const steps: Step[] = [{ profile: 'of-the-second' }];
  const begun = async (): Promise<number> => (await second.call('POST', '/toil/contested', { body: { steps } })).status;
  await expect.poll(begun, { timeout: 60_000, interval: 500 }).toBe(201);
  writeFileSync(flag('suspended'), '');
  first.child.kill('SIGCONT');
  await expect.poll(() => stateAt(first, id), { timeout: 60_000 }).toBe('finished');
  const { error } = await first.ok('GET', `/runs/${id}`);
  expect(error[0]).toContain('another run has begun on toil contested since');
  expect((await first.ok('GET', '/osimages/contested')).contested.profile).toBe('of-the-second');
});

test('the runs of a server that was killed are interrupted, and what it worked on is free', {
  timeout: 120_000,
}, async () => {
  const events = await EventClient.open(second, { query: { kinds: 'run' } });
  await events.ready();
  const id = await begin(first, 'killed', [{ tell: 'so far' }, { wait: flag('never') }]);
  await expect.poll(async () => (await second.ok('GET', `/runs/${id}`)).lines).toEqual(['so far']);
  first.client.close();
  first.child.kill('SIGKILL');
  await exitOf(first.child);
  const shown = (await heard(events, id, 'interrupted')).data;
  expect(shown).toMatchObject({
    errorcode: 5,
    error: [expect.stringMatching(/^The server \S+ that did this run was stopped or killed;/)],
  });
  events.close();
  expect((await second.ok('GET', '/runs?state=running')).runs).toEqual([]);
  const begun = async (): Promise<number> =>
    (await second.call('POST', '/toil/killed', { body: { steps: [] } })).status;
  await expect.poll(begun, { timeout: 60_000, interval: 500 }).toBe(201);
  // The next server in its data directory need not wait for that.
  first = await startServer({ environment: { MUSTER_DATABASE: postgres.url }, main, data: first.data });
  expect(await first.ok('GET', `/runs/${id}`)).toMatchObject({ state: 'interrupted', lines: ['so far'] });
  await first.stop();
  rmSync(first.data, { recursive: true, force: true });
});
