import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rootPassword, startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
const ask = (
  options: { headers?: Record<string, string>; query?: Record<string, string>; body?: unknown },
  root = '/muster',
) => server.call('GET', '/nodes', { token: null, root, ...options });

describe('the header Authorization', () => {
  it('takes a token as Bearer, and account and password as Basic', async () => {
    for (const Authorization of [`Bearer ${server.token}`, `bearer ${server.token}`, basic(`root:${rootPassword}`)])
      expect((await ask({ headers: { Authorization } })).status).toBe(200);
    const taken = await server.call('POST', '/tokens', {
      token: null,
      headers: { Authorization: basic(`root:${rootPassword}`) },
    });
    expect(taken.status).toBe(201);
  });

  it('ends a token that it carries', async () => {
    const { token } = await server.ok('POST', '/tokens', { userName: 'root', userPW: rootPassword });
    const headers = { Authorization: `Bearer ${token.id}` };
    expect((await server.call('DELETE', '/tokens', { token: null, headers })).status).toBe(200);
    expect((await ask({ headers })).status).toBe(401);
  });

  it('gives way to X-Auth-Token and to userName', async () => {
    const headers = { Authorization: 'Bearer wrong' };
    expect((await ask({ headers: { ...headers, 'X-Auth-Token': server.token } })).status).toBe(200);
    expect((await ask({ headers, query: { userName: 'root', userPW: rootPassword } })).status).toBe(200);
  });

  it('is nothing at /xcatws, as in the reference system', async () => {
    expect((await ask({ headers: { Authorization: `Bearer ${server.token}` } }, '/xcatws')).status).toBe(401);
  });
});

describe('who is refused', () => {
  const none = 'No credentials were sent: send a token in the header X-Auth-Token, or userName and userPW.';
  const notUnderstood =
    'The header Authorization is not understood; send "Bearer TOKEN", or "Basic" with account and password.';
  const notRight = 'The account or its password is not right.';
  it.each([
    ['nothing', {}, none],
    [
      'a token',
      { headers: { 'X-Auth-Token': 'x' } },
      'The token is not known or has expired; POST /tokens gives a new one.',
    ],
    ['no password', { query: { userName: 'root' } }, 'userName was sent without userPW.'],
    ['no account', { query: { userPW: 'x' } }, 'userPW was sent without userName.'],
    ['another scheme', { headers: { Authorization: 'Digest x=y' } }, notUnderstood],
    ['a scheme alone', { headers: { Authorization: 'Bearer' } }, notUnderstood],
    ['Basic that is none', { headers: { Authorization: 'Basic xxx' } }, notUnderstood],
    ['a slip', { body: { username: 'root', userPW: 'x' } }, '"username" is not known; it is written "userName".'],
    ['another slip', { body: { userName: 'root', password: 'x' } }, '"password" is not known; it is written "userPW".'],
    ['a wrong password', { query: { userName: 'root', userPW: 'wrong' } }, notRight],
    ['an unknown account', { query: { userName: 'nobody', userPW: 'wrong' } }, notRight],
  ])('having sent %s hears what was wrong with that, and nothing of what is right', async (_what, sent, hint) => {
    const reply = await ask(sent);
    expect([reply.status, reply.json]).toEqual([401, { error: ['Authentication failure', hint], errorcode: 2 }]);
    // Basic would make browsers keep the password and send it for other sites.
    expect(reply.headers['www-authenticate']).toBe('Bearer realm="muster"');
    const elsewhere = await ask(sent, '/xcatws');
    expect(elsewhere.json).toEqual({ error: ['Authentication failure'], errorcode: 2 });
  });
});

it('times are ISO 8601, but for the end of a token, whose form is specified', async () => {
  const { tokens } = await server.ok('GET', '/tokens');
  const mine = tokens.find(({ current }: { current: boolean }) => current);
  expect(mine.created).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(Math.abs(Date.parse(mine.created) - Date.now())).toBeLessThan(600_000);
  expect(mine.expire).toMatch(/^\d{4}-\d+-\d+ \d+:\d+:\d+$/);
});

it('what exists already is refused with the member that replaces it', async () => {
  await server.ok('POST', '/nodes/n1', { groups: 'all' });
  const refused = await server.call('POST', '/nodes/n1', { body: { groups: 'all' } });
  expect(refused.json.error[0]).toContain('Send "options":{"-f":""} along to replace');
  await server.ok('POST', '/nodes/n1', { groups: 'all', options: { '-f': '' } });
});

it('a bracket that nothing closes is named', async () => {
  const refused = await server.call('GET', '/nodes/n[1-');
  expect([refused.status, refused.json.error[0]]).toEqual([403, expect.stringContaining('"[1-" at column 2')]);
});
