import { afterAll, beforeAll, expect, it } from 'vitest';
import { EventClient } from '../harness/events.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser, logIn } from '../harness/users.ts';

/** An account that is removed, and another person's that gets its name. */
let server: TestServer;
beforeAll(async () => {
  server = await startServer();
  await server.ok('POST', '/nodes/n1', { groups: 'all' });
  await server.ok('POST', '/policy/5', {
    name: 'anna',
    commands: 'chdef,lsdef,lschanges',
    noderange: 'n1',
    rule: 'allow',
  });
});
afterAll(() => server.stop());

const account = '/tables/passwd/rows/key=xcat,username=anna';

it('shows nobody the runs and changes of an account that had the name before', async () => {
  const first = await addUser(server, 'anna');
  const write = await server.call('PUT', '/nodes/n1', { token: first, body: { rack: 'r1' } });
  const read = await server.call('GET', '/nodes/n1', { token: first });
  const runs = [write, read].map(({ headers }) => String(headers['x-muster-run']));
  const change = Number(write.headers['x-muster-revision']);
  // The node is another's since: what was done on the one before only its author sees.
  await server.ok('DELETE', '/nodes/n1');
  await server.ok('POST', '/nodes/n1', { groups: 'all' });
  const seen = async (token: string) => [
    ...(await Promise.all(runs.map(async (run) => (await server.call('GET', `/runs/${run}`, { token })).status))),
    (await server.ok('GET', '/runs', undefined, { token })).runs.some(({ id }: { id: string }) => id === runs[0]),
    (await server.call('GET', `/changes/${change}`, { token })).status,
  ];
  expect(await seen(first)).toEqual([200, 200, true, 200]);
  // To write the row again, with another password too, makes nobody else of it.
  await server.ok('PUT', account, { password: 'other-password', disable: '1' });
  await server.ok('PUT', account, { disable: '' });
  expect(await seen(await logIn(server, 'anna', 'other-password'))).toEqual([200, 200, true, 200]);

  await server.ok('DELETE', account);
  const second = await addUser(server, 'anna');
  expect(await seen(second)).toEqual([404, 404, false, 404]);
  expect(await server.ok('GET', `/runs/${runs[0]}`)).toMatchObject({ user: 'anna', command: 'chdef' });
});

it('counts an account that was renamed and named back as somebody else', async () => {
  const token = await logIn(server, 'anna');
  const { headers } = await server.call('PUT', '/nodes/n1', { token, body: { rack: 'r2' } });
  await server.ok('PUT', account, { username: 'berta' });
  await server.ok('PUT', account.replace('anna', 'berta'), { username: 'anna' });
  const again = await logIn(server, 'anna');
  expect((await server.call('GET', `/runs/${String(headers['x-muster-run'])}`, { token: again })).status).toBe(404);
});

it('tells nobody by events of the runs of an account that had the name before', async () => {
  await server.ok('POST', '/policy/6', { name: 'anna', commands: 'events,nodestat', rule: 'allow' });
  const own = await logIn(server, 'anna');
  const first = await EventClient.open(server, { token: own, query: { kinds: 'run' } });
  await first.ready();
  await server.call('GET', '/nodes/n1/nodestat', { token: own });
  const { id } = await first.event((_data, kind) => kind === 'run');
  await first.event(({ state }) => state === 'finished');
  const before = first.blocks.find(({ event }) => event === 'ready')!.id ?? id;
  first.close();
  const again = async (token: string) => {
    const client = await EventClient.open(server, { token, query: { kinds: 'run' }, after: String(before) });
    await server.call('GET', '/nodes/n1/nodestat', { token });
    await client.event(({ state }) => state === 'finished');
    client.close();
    return client.events.map(({ data }) => data.run);
  };
  const heard = first.events.map(({ data }) => data.run);
  expect(await again(own)).toContain(heard[0]);
  await server.ok('DELETE', account);
  expect(await again(await addUser(server, 'anna'))).not.toContain(heard[0]);
});

it('gives nobody the masters of an account that had the name before', async () => {
  const row = '/tables/vmmaster/rows/name=gold';
  await server.ok('PUT', row, { storage: 'dir:///masters', originator: 'anna' });
  const owner = async () => (await server.ok('GET', row)).vmmaster[0].originator ?? '';
  await server.ok('PUT', account, { password: 'another-password' });
  expect(await owner()).toBe('anna');
  await server.ok('DELETE', account);
  expect(await owner()).toBe('');
  await server.ok('PUT', row, { originator: 'anna' });
  await addUser(server, 'anna');
  expect(await owner()).toBe('');
});
