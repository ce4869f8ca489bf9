import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queryOutside } from '../harness/raw-sqlite.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser, logIn, passwordOf } from '../harness/users.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const row = (name: string): string => `/tables/passwd/rows/key=xcat,username=${name}`;
const statusOf = async (token: string): Promise<number> => (await server.call('GET', '/tokens', { token })).status;
const query = (sql: string) => queryOutside(join(server.data, 'muster.sqlite'), sql);
const lastChanges = (): Record<string, [key: string, before: object | null, after: object | null][]> =>
  JSON.parse(query('select changes from muster_journal order by revision desc limit 1')[0]!['changes'] as string);
const storedHash = (name: string): string =>
  query(`select password from passwd where key = 'xcat' and username = '${name}'`)[0]!['password'] as string;

describe('the tokens of an account end in the change set that', () => {
  it.each<[what: string, method: string, path: (name: string) => string, body?: object]>([
    ['changes its password', 'PUT', row, { password: 'another' }],
    ['sets its password to a hash', 'PUT', row, { password: `$5$saltsalt$${'x'.repeat(43)}` }],
    ['takes its password', 'PUT', row, { password: '' }],
    ['disables it', 'PUT', row, { disable: 'yes' }],
    ['gives it another name', 'PUT', row, { username: 'renamed' }],
    ['makes another kind of row of it', 'PUT', row, { key: 'ipmi', password: 'x' }],
    ['removes it', 'DELETE', row],
    ['removes it among others', 'DELETE', (name) => `/tables/passwd/rows/username=${name}`],
  ])('%s', async (what, method, path, body) => {
    const name = `u${what.replaceAll(/\W/g, '')}`;
    const tokens = [await addUser(server, name), await logIn(server, name)];
    await server.ok(method, path(name), body);
    for (const token of tokens) expect(await statusOf(token)).toBe(401);
    const changes = lastChanges();
    expect(Object.keys(changes).sort()).toEqual(['passwd', 'token']);
    expect(changes['token']!.map(([, before, after]) => [before, after])).toEqual([
      [expect.objectContaining({ username: name }), null],
      [expect.objectContaining({ username: name }), null],
    ]);
    expect(await statusOf(server.token)).toBe(200);
    expect(query(`select count(*) as tokens from token where username = '${name}'`)).toEqual([{ tokens: 0 }]);
  });

  it('and do not come back with an account of that name', async () => {
    const token = await addUser(server, 'again');
    await server.ok('DELETE', row('again'));
    await server.ok('PUT', row('again'), { password: passwordOf('again') });
    expect(await statusOf(token)).toBe(401);
    expect(await statusOf(await logIn(server, 'again'))).toBe(200);
  });

  it('but stay when nothing of it changes but what is noted about it', async () => {
    const token = await addUser(server, 'kept');
    const hash = storedHash('kept');
    for (const body of [{ password: '********' }, { password: hash }, { comments: 'on leave' }, { disable: '' }]) {
      await server.ok('PUT', row('kept'), body);
      expect([body, await statusOf(token)]).toEqual([body, 200]);
    }
    await server.ok('PUT', '/tables/passwd/rows/key=ipmi,username=kept', { password: 'of hardware' });
    expect(await statusOf(token)).toBe(200);
  });

  it('is sent with one of them; that request is answered', async () => {
    const token = await addUser(server, 'self');
    await server.ok('PUT', '/policy/7', { name: 'self', rule: 'allow' });
    expect((await server.call('PUT', row('self'), { token, body: { password: 'new' } })).status).toBe(200);
    expect(await statusOf(token)).toBe(401);
  });

  it('a dry run shows, which ends none', async () => {
    const token = await addUser(server, 'dry');
    const { changes } = await server.ok('DELETE', row('dry'), undefined, { query: { dryRun: 1 } });
    expect(changes).toMatchObject([{ table: 'passwd' }, { table: 'token', key: { tokenid: '********' }, after: null }]);
    expect(await statusOf(token)).toBe(200);
  });
});

it('a password that was changed after it was checked gets no token', async () => {
  await addUser(server, 'late');
  const { headers } = await server.call('GET', '/nodes');
  // The request is held between the check of the password and its command, until the next change is made.
  const next = Number(headers['x-muster-revision']) + 1;
  const held = server.call('POST', '/tokens', {
    token: null,
    body: { userName: 'late', userPW: passwordOf('late') },
    headers: { 'X-Muster-Revision': String(next) },
  });
  await new Promise((resolve) => setTimeout(resolve, 500));
  await server.ok('PUT', row('late'), { password: 'another' });
  expect((await held).status).toBe(401);
  expect(query("select count(*) as tokens from token where username = 'late'")).toEqual([{ tokens: 0 }]);
});
