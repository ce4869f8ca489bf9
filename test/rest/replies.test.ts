import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';

let server: TestServer;
let user: string;
beforeAll(async () => {
  server = await startServer();
  await server.ok('POST', '/nodes/n1-n3', { groups: 'all', mgt: 'ipmi' });
  await server.ok('PUT', '/nodes/n2', { arch: 'x86_64' });
  user = await addUser(server, 'user');
  await server.ok('POST', '/policy/5', { name: 'user', commands: 'lsdef', rule: 'allow' });
});
afterAll(() => server.stop());

const ndjson = { headers: { Accept: 'application/x-ndjson' } };

describe.each(['/muster', '/xcatws'])('runs at %s', (root) => {
  const runOf = async (method: string, path: string, body?: object, token = server.token) =>
    String((await server.call(method, path, { root, token, ...(body ? { body } : {}) })).headers['x-muster-run']);

  it('have an id in every reply of a command, and are shown by it', async () => {
    const id = await runOf('PUT', '/nodes/n1,n2', { mgt: 'ipmi' });
    expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    const run = await server.ok('GET', `/runs/${id}`, undefined, { root });
    expect(run).toEqual({
      id,
      command: 'chdef',
      user: 'root',
      nodes: 2,
      ok: 2,
      failed: 0,
      errorcode: 0,
      state: 'finished',
      started: expect.stringMatching(/Z$/),
      finished: expect.stringMatching(/Z$/),
    });
    expect(await runOf('PUT', '/nodes/n1,n2', { mgt: 'ipmi' })).not.toBe(id);
  });

  it('are one’s own: those of others are unknown, but to administrators', async () => {
    const roots = await runOf('GET', '/nodes');
    const users = await runOf('GET', '/nodes', undefined, user);
    const unknown = root === '/muster' ? 404 : 403;
    expect((await server.call('GET', `/runs/${users}`, { root, token: user })).status).toBe(200);
    expect((await server.call('GET', `/runs/${roots}`, { root, token: user })).status).toBe(unknown);
    expect((await server.call('DELETE', `/runs/${roots}`, { root, token: user })).status).toBe(unknown);
    expect((await server.call('GET', `/runs/${users}`, { root })).status).toBe(200);
    expect((await server.call('GET', `/runs/${roots.replace(/^./, 'x')}`, { root })).status).toBe(unknown);
  });

  it('that have ended cannot be cancelled', async () => {
    const reply = await server.call('DELETE', `/runs/${await runOf('GET', '/nodes')}`, { root });
    expect([reply.status, reply.json.errorcode]).toEqual([403, 1]);
  });
});

describe('revisions', () => {
  const revision = async (method: string, path: string, body?: object) =>
    Number((await server.call(method, path, body ? { body } : {})).headers['x-muster-revision']);

  it('count the changes', async () => {
    const first = await revision('GET', '/nodes');
    expect(await revision('PUT', '/nodes/n1', { usercomment: 'one' })).toBe(first + 1);
    expect(await revision('PUT', '/nodes/n1', { usercomment: 'two' })).toBe(first + 2);
    expect(await revision('GET', '/nodes')).toBe(first + 2);
    expect(await revision('PUT', '/nodes/n1', { usercomment: 'two' })).toBe(first + 2);
    expect(await revision('DELETE', '/tables/routes/rows/routename=nosuch')).toBe(first + 2);
  });

  it('may be asked for: a known one at once, one to come when it has come', async () => {
    const now = await revision('GET', '/nodes');
    const asking = (number: number | string) =>
      server.call('GET', '/nodes/n1', { headers: { 'X-Muster-Revision': String(number) } });
    expect((await asking(now)).status).toBe(200);
    expect((await asking(1)).status).toBe(200);
    const waiting = asking(now + 1);
    await server.ok('PUT', '/nodes/n1', { usercomment: 'awaited' });
    expect((await waiting).json.n1.usercomment).toBe('awaited');
    expect((await asking('soon')).status).toBe(400);
    const began = performance.now();
    const future = await asking(now + 1_000);
    expect([future.status, future.json.errorcode]).toEqual([503, 5]);
    expect(Number(future.headers['retry-after'])).toBeGreaterThan(0);
    expect(performance.now() - began).toBeGreaterThan(2_000);
  });
});

describe('NDJSON', () => {
  const lines = (text: string) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));

  it.each(['/muster', '/xcatws'])('has a line a node and a summary last, at %s', async (root) => {
    const reply = await server.call('GET', '/nodes/n1-n3/attrs/mgt', { root, ...ndjson });
    expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/x-ndjson']);
    expect(reply.headers['x-muster-run']).toBeDefined();
    expect(lines(reply.text)).toEqual([
      { node: 'n1', value: { mgt: 'ipmi' } },
      { node: 'n2', value: { mgt: 'ipmi' } },
      { node: 'n3', value: { mgt: 'ipmi' } },
      { summary: { nodes: 3, ok: 3, failed: 0, errorcode: 0 } },
    ]);
    expect(reply.text.endsWith('\n')).toBe(true);
  });

  it('has the same values as JSON', async () => {
    const all = await server.ok('GET', '/nodes/ALLRESOURCES');
    const streamed = lines((await server.call('GET', '/nodes/ALLRESOURCES', ndjson)).text);
    expect(Object.fromEntries(streamed.slice(0, -1).map(({ node, value }) => [node, value]))).toEqual(all);
  });

  it('of lists, tables and writes ends with the summary too', async () => {
    const list = lines((await server.call('GET', '/nodes', ndjson)).text);
    expect(list).toEqual([
      { value: 'n1' },
      { value: 'n2' },
      { value: 'n3' },
      { summary: { nodes: 3, ok: 3, failed: 0, errorcode: 0 } },
    ]);
    const table = lines((await server.call('GET', '/tables/policy/rows', ndjson)).text);
    expect(table.at(-1)).toEqual({ summary: { nodes: 0, ok: 0, failed: 0, errorcode: 0 } });
    const write = await server.call('PUT', '/nodes/n1', { ...ndjson, body: { mgt: 'ipmi' } });
    expect(lines(write.text)).toEqual([{ summary: { nodes: 1, ok: 1, failed: 0, errorcode: 0 } }]);
  });

  it('begins only when nothing went wrong before', async () => {
    const unknown = await server.call('GET', '/nodes/nosuch', ndjson);
    expect([unknown.status, unknown.headers['content-type']]).toEqual([404, 'application/json; charset=utf-8']);
    expect(unknown.json.errorcode).toBe(1);
    expect((await server.call('GET', '/nodes/n1', { ...ndjson, token: user })).status).toBe(200);
    expect((await server.call('PUT', '/nodes/n1', { ...ndjson, token: user, body: {} })).status).toBe(403);
    expect((await server.call('GET', '/nodes/n1', { ...ndjson, token: null })).status).toBe(401);
  });

  it.each([
    ['application/x-ndjson, application/json;q=0.5', true],
    ['application/json, application/x-ndjson;q=0.5', false],
    ['application/json, */*', false],
  ])('is what %s asks for: %s', async (accept, streamed) => {
    const reply = await server.call('GET', '/nodes/n1', { headers: { Accept: accept } });
    expect(reply.headers['content-type']?.startsWith('application/x-ndjson')).toBe(streamed);
  });
});

describe('ETag', () => {
  const get = (path: string, tag?: string, query: Record<string, string> = {}) =>
    server.call('GET', path, { query, ...(tag === undefined ? {} : { headers: { 'If-None-Match': tag } }) });
  const tagOf = async (path: string) => String((await get(path)).headers['etag']);

  it.each([
    '/nodes',
    '/nodes/n1',
    '/nodes/ALLRESOURCES',
    '/nodes/n1/attrs/mgt',
    '/groups/all',
    '/policy',
    '/policy/1',
    '/osimages',
    '/networks/ALLRESOURCES',
    '/globalconf',
  ])('of %s spares the body while nothing changes', async (path) => {
    const tag = await tagOf(path);
    expect(tag).toMatch(/^"\S+"$/);
    for (const sent of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const reply = await get(path, sent);
      expect([reply.status, reply.text, reply.headers['etag']]).toEqual([304, '', tag]);
    }
    expect((await get(path, '"other"')).status).toBe(200);
  });

  it('changes with what the answer is made of', async () => {
    for (const change of [
      () => server.ok('PUT', '/nodes/n3', { usercomment: `${Math.random()}` }),
      () => server.ok('PUT', '/groups/all', { usercomment: `${Math.random()}` }),
      () => server.ok('PUT', '/tables/postscripts/rows/node=xcatdefaults', { postscripts: `s${Date.now()}` }),
      () => server.ok('PUT', '/nodes/n1', { status: `booted-${Math.random()}` }),
    ]) {
      const tag = await tagOf('/nodes/ALLRESOURCES');
      await change();
      expect((await get('/nodes/ALLRESOURCES', tag)).status).toBe(200);
      expect(await tagOf('/nodes/ALLRESOURCES')).not.toBe(tag);
    }
  });

  it('does not change with other things', async () => {
    const tag = await tagOf('/osimages');
    await server.ok('PUT', '/nodes/n3', { usercomment: 'unrelated' });
    expect((await get('/osimages', tag)).status).toBe(304);
  });

  it('is another for another form of the same', async () => {
    const tag = await tagOf('/nodes/n1');
    for (const query of [{ pretty: '1' }, { xcoll: '1' }, { ver: '1.0' }] as Record<string, string>[])
      expect((await get('/nodes/n1', tag, query)).status).toBe(200);
  });

  it('is asked for only by those who may read', async () => {
    const tag = await tagOf('/nodes/n1');
    const headers = { 'If-None-Match': tag };
    expect((await server.call('GET', '/nodes/n1', { token: null, headers })).status).toBe(401);
    expect((await server.call('GET', '/nodes/n1/nodels', { token: user, headers })).status).toBe(403);
  });
});

describe('a status of a node', () => {
  it('is written and read like other attributes', async () => {
    await server.ok('PUT', '/nodes/n1', { status: 'booted' });
    expect(await server.ok('GET', '/nodes/n1/attrs/status')).toEqual({ n1: { status: 'booted' } });
    expect(await server.ok('GET', '/nodes/nodelist.status==booted/nodels')).toEqual(['n1']);
  });
});

describe('the form of a reply', () => {
  it('is short unless asked for', async () => {
    expect((await server.call('GET', '/nodes')).text).toBe('["n1","n2","n3"]\n');
    expect((await server.call('GET', '/nodes/n1,n2/attrs/mgt')).text).toBe(
      '{"n1":{"mgt":"ipmi"},"n2":{"mgt":"ipmi"}}\n',
    );
    expect((await server.call('PUT', '/nodes/n1', { body: {} })).text).toBe('');
  });

  it('with pretty=1 has one member a line, three blanks deep, from query or body', async () => {
    const pretty = '{\n   "n1": {\n      "mgt": "ipmi"\n   },\n   "n2": {\n      "mgt": "ipmi"\n   }\n}\n';
    const path = '/nodes/n1,n2/attrs/mgt';
    expect((await server.call('GET', path, { query: { pretty: 1 } })).text).toBe(pretty);
    expect((await server.call('GET', path, { body: { pretty: 1 } })).text).toBe(pretty);
    expect((await server.call('GET', path, { query: { pretty: 0 }, body: { pretty: 1 } })).text).not.toContain('\n ');
    expect((await server.call('GET', '/nodes', { query: { pretty: 1 } })).text).toBe(
      '[\n   "n1",\n   "n2",\n   "n3"\n]\n',
    );
    expect((await server.call('GET', '/nodes/ALLRESOURCES', { query: { pretty: 1 } })).text).toMatch(
      /^\{\n {3}"n1": \{\n {6}"/,
    );
  });

  it('with xcoll=1 joins what is equal', async () => {
    const joined = await server.ok('GET', '/nodes/n1-n3/attrs/arch', undefined, { query: { xcoll: 1 } });
    expect(joined).toEqual({ 'n1,n3': { arch: '' }, n2: { arch: 'x86_64' } });
    const listed = await server.ok('GET', '/nodes/n1-n3/attrs/groups', undefined, { query: { xcoll: 1, ver: '1.0' } });
    expect(listed).toEqual({ 'n1,n2,n3': { groups: ['all'] } });
    expect(await server.ok('GET', '/nodes', undefined, { query: { xcoll: 1 } })).toEqual(['n1', 'n2', 'n3']);
  });

  it('with ver=1.0, and only so, shows lists as arrays', async () => {
    const groups = async (ver: string) =>
      (await server.ok('GET', '/nodes/n1/attrs/groups', undefined, { query: { ver } })).n1.groups;
    expect(await groups('1.0')).toEqual(['all']);
    expect(await groups('1')).toBe('all');
    const { all } = await server.ok('GET', '/groups/all', undefined, { query: { ver: '1.0' } });
    expect(all.members).toEqual(['n1', 'n2', 'n3']);
  });

  it('with debug=1 gains the messages', async () => {
    const debug = { query: { debug: 1 } };
    const { n1, debug: messages } = (await server.call('GET', '/nodes/n1', debug)).json;
    expect(n1.mgt).toBe('ipmi');
    expect(messages.every((message: unknown) => typeof message === 'string' && message !== '')).toBe(true);
    const list = (await server.call('GET', '/nodes', debug)).json;
    expect(list).toEqual(['n1', 'n2', 'n3', { debug: expect.any(Array) }]);
    const write = (await server.call('PUT', '/nodes/n1', { ...debug, body: { mgt: 'ipmi' } })).json;
    expect(write).toEqual({ debug: expect.any(Array) });
    const error = (await server.call('GET', '/nodes/nosuch', debug)).json;
    expect(Object.keys(error).sort()).toEqual(['error', 'errorcode']);
    const streamed = await server.call('GET', '/nodes/n1', { ...debug, ...ndjson });
    expect(streamed.status).toBe(200);
  });

  it('is empty and says so for what is empty', async () => {
    expect(await server.ok('GET', '/osimages')).toEqual([]);
    expect(await server.ok('GET', '/osimages/ALLRESOURCES')).toEqual({});
    expect(await server.ok('GET', '/nodes/n1,-n1')).toEqual({});
    expect(await server.ok('GET', '/nodes/n1,-n1/nodels')).toEqual([]);
    expect((await server.call('GET', '/nodes/n1,-n1', { root: '/xcatws' })).status).toBe(403);
  });

  it('has the names in byte order', async () => {
    await server.ok('POST', '/osimages/b,a,Z,%C3%A4,a1', { osvers: 'x' });
    expect(await server.ok('GET', '/osimages')).toEqual(['Z', 'a', 'a1', 'b', 'ä']);
    await server.ok('DELETE', '/osimages/b,a,Z,%C3%A4,a1');
  });
});
