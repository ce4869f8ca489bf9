import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashToken } from '../../src/access/tokens.ts';
import { errorOf } from '../harness/errors.ts';
import { rootPassword, startServer, type TestServer } from '../harness/server.ts';
import { addUser, passwordOf } from '../harness/users.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
  await server.ok('POST', '/nodes/n1', { groups: 'all' });
});
afterAll(() => server.stop());

interface Session {
  readonly cookie: string;
  readonly csrf: string;
  readonly attributes: string;
}

const account = { userName: 'root', userPW: rootPassword };

async function signIn(body: object = account): Promise<Session> {
  const { status, json, headers } = await server.call('POST', '/session', { body, token: null });
  expect(status).toBe(201);
  const [cookie = '', ...rest] = headers['set-cookie']![0]!.split('; ');
  return { cookie, csrf: json.csrf, attributes: rest.join('; ') };
}

const own = { 'Sec-Fetch-Site': 'same-origin' };
const send = (method: string, path: string, headers: Record<string, string>, body?: object, root = '/muster') =>
  server.call(method, path, { token: null, headers, root, ...(body && { body }) });

describe('a session of a browser', () => {
  it('is a cookie that scripts, other hosts and other sites do not get, and a token of which the hash is stored', async () => {
    const { cookie, csrf, attributes } = await signIn();
    expect(cookie).toMatch(/^__Host-muster-session=[\da-f-]{36}$/);
    expect(attributes).toMatch(/^Max-Age=(8639\d|86400); Path=\/; Secure; HttpOnly; SameSite=Strict$/);
    const session = await send('GET', '/session', { ...own, cookie });
    expect(session.json).toEqual({ user: 'root', csrf, expire: expect.any(String), full: true });
    const rows = JSON.stringify(await server.ok('GET', '/tables/token/rows'));
    const id = cookie.split('=')[1]!;
    expect(rows).not.toContain(id);
    expect(rows).not.toContain(csrf);
    expect(csrf).not.toContain(hashToken(id));
  });

  it('reads with the cookie, and changes with the cookie and the header', async () => {
    const { cookie, csrf } = await signIn();
    expect((await send('GET', '/nodes', { cookie })).json).toEqual(['n1']);
    const other = await signIn();
    for (const headers of [{}, { 'X-CSRF-Token': '' }, { 'X-CSRF-Token': other.csrf }]) {
      const refused = await send('PUT', '/nodes/n1', { cookie, ...headers }, { rack: 'r1' });
      expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('X-CSRF-Token')]);
    }
    expect((await send('PUT', '/nodes/n1', { ...own, cookie, 'X-CSRF-Token': csrf }, { rack: 'r1' })).status).toBe(200);
  });

  it.each<[what: string, headers: Record<string, string>]>([
    ['a page of another site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['a page of another host of the domain', { 'Sec-Fetch-Site': 'same-site' }],
    ['a page of another origin', { Origin: 'https://elsewhere.example' }],
    ['a page without an origin', { Origin: 'null' }],
  ])('is not for %s, which cannot begin one either', async (_what, headers) => {
    const { cookie, csrf } = await signIn();
    const refused = await send('GET', '/nodes', { cookie, ...headers });
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('another site')]);
    expect((await send('DELETE', '/session', { cookie, 'X-CSRF-Token': csrf, ...headers })).status).toBe(403);
    const begun = await send('POST', '/session', headers, account);
    expect([begun.status, begun.headers['set-cookie']]).toEqual([403, undefined]);
    expect((await send('GET', '/nodes', { cookie })).status).toBe(200);
  });

  it('opens streams for pages of this server only', async () => {
    const { cookie } = await signIn();
    const at = '/events?seconds=0';
    expect(errorOf(await send('GET', at, { cookie }))[0]).toBe(403);
    expect(errorOf(await send('GET', at, { cookie, 'Sec-Fetch-Site': 'none' }))[0]).toBe(403);
    expect((await send('GET', at, { cookie, ...own })).text).toContain('event: ready');
    const origin = `https://127.0.0.1:${server.port}`;
    expect((await send('GET', at, { cookie, Origin: origin })).status).toBe(200);
    const handshake = [
      'GET /muster/nodes/n1/console HTTP/1.1',
      `Host: 127.0.0.1:${server.port}`,
      `Cookie: ${cookie}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ];
    const refused = await server.client.raw(`${handshake.join('\r\n')}\r\n\r\n`);
    expect(refused).toMatch(/^HTTP\/1.1 403 [^]*pages of this server/);
    const from = (site: string) => server.client.raw(`${handshake.join('\r\n')}\r\nOrigin: ${site}\r\n\r\n`);
    expect(await from('https://elsewhere.example')).toMatch(/^HTTP\/1.1 403 [^]*page of another site/);
    expect(await from(`https://127.0.0.1:${server.port + 1}`)).toMatch(/^HTTP\/1.1 403 [^]*page of another site/);
    // Let in as far as there is a console.
    expect(await from(origin)).toMatch(/attribute mgt is not set/);
  });

  it('is nothing at /xcatws, and nothing beside other credentials', async () => {
    const { cookie } = await signIn();
    expect((await send('GET', '/nodes', { ...own, cookie }, undefined, '/xcatws')).status).toBe(401);
    const wrong = '5cabd675-bc2e-4318-b1d6-831fd1f32f97';
    expect((await send('GET', '/nodes', { cookie, 'X-Auth-Token': wrong })).status).toBe(401);
    expect((await send('GET', '/nodes', { cookie, Authorization: `Bearer ${wrong}` })).status).toBe(401);
    expect((await send('GET', '/session', { 'X-Auth-Token': server.token })).json).toEqual({
      user: 'root',
      expire: expect.any(String),
      full: true,
    });
  });

  it('ends when somebody signs out, and takes the cookie back', async () => {
    const { cookie, csrf } = await signIn();
    const ended = await send('DELETE', '/session', { cookie, 'X-CSRF-Token': csrf });
    expect([ended.status, ended.headers['set-cookie']]).toEqual([
      200,
      ['__Host-muster-session=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Strict'],
    ]);
    const after = await send('GET', '/nodes', { cookie });
    expect([after.status, after.json.error[1]]).toEqual([401, 'The session has ended; sign in again.']);
  });

  it('ends with the password of its account, and says what it is not allowed', async () => {
    await addUser(server, 'limited');
    const { cookie, csrf } = await signIn({ userName: 'limited', userPW: passwordOf('limited') });
    expect((await send('GET', '/session', { cookie })).json).toMatchObject({ user: 'limited', full: false });
    expect((await send('PUT', '/nodes/n1', { cookie, 'X-CSRF-Token': csrf }, { rack: 'r2' })).status).toBe(403);
    await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=limited', { password: 'another' });
    expect((await send('GET', '/nodes', { cookie })).status).toBe(401);
  });

  it('is refused and throttled like every login', async () => {
    const wrong = { userName: 'nobody', userPW: 'wrong' };
    const attempts = await Promise.all(Array.from({ length: 12 }, () => send('POST', '/session', {}, wrong)));
    expect(attempts.every(({ status, headers }) => [401, 503].includes(status) && !headers['set-cookie'])).toBe(true);
    await server.ok('POST', '/nodes/n2', { groups: 'all' });
    const { cookie } = await signIn();
    expect(errorOf(await send('POST', '/session', { cookie }))[0]).toBe(401);
  });
});
