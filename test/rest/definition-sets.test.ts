import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { resetTo } from '../harness/reset.ts';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  await resetTo(server, {
    passwd: [{ key: 'xcat', username: 'root' }],
    policy: [{ priority: '1', name: 'root', rule: 'allow' }],
    nodelist: ['n1', 'n2', 'n3'].map((name) => ({ node: name, groups: 'all' })),
  });
});

const node = (names: string, attributes: object = { groups: 'all' }) => ({ type: 'node', names, attributes });
const net9 = { type: 'network', names: 'net9', attributes: { net: '10.9.0.0', mask: '255.255.0.0' } };
const revision = async () => (await server.call('GET', '/nodes')).headers['x-muster-revision'];

describe('a set of definitions', () => {
  it('is made in one change, whatever the types', async () => {
    const before = Number(await revision());
    const made = await server.ok('POST', '/definitions', { definitions: [node('x1-x2'), net9] });
    expect(made).toEqual({ created: ['x1', 'x2', 'net9'], replaced: [], kept: [], unknownMembers: [] });
    expect(Number(await revision())).toBe(before + 1);
  });

  it('may have megabytes, as those of thousands of nodes', async () => {
    const definitions = Array.from({ length: 40 }, (_, i) =>
      node(`x${i}`, { groups: 'all', usercomment: 'x'.repeat(30_000) }),
    );
    const { created } = await server.ok('POST', '/definitions', { definitions });
    expect(created).toHaveLength(40);
  });

  it('changes nothing if one of them cannot be made', async () => {
    const bad = { ...net9, attributes: { net: '10.9.0.0' } };
    const reply = await server.call('POST', '/definitions', { body: { definitions: [node('x1'), bad] } });
    expect(reply.status).toBe(403);
    expect(await server.ok('GET', '/nodes')).toEqual(['n1', 'n2', 'n3']);
  });

  it('refuses, keeps or replaces what exists', async () => {
    const definitions = [node('n1,x1', { groups: 'new' })];
    expect((await server.call('POST', '/definitions', { body: { definitions } })).status).toBe(403);
    const kept = await server.ok('POST', '/definitions', { definitions, existing: 'keep' });
    expect(kept).toMatchObject({ created: ['x1'], kept: ['n1'] });
    expect(await server.ok('GET', '/nodes/n1/attrs/groups')).toEqual({ n1: { groups: 'all' } });
    const replaced = await server.ok('POST', '/definitions', { definitions, existing: 'replace' });
    expect(replaced).toMatchObject({ created: [], replaced: ['n1', 'x1'] });
    expect(await server.ok('GET', '/nodes/n1/attrs/groups')).toEqual({ n1: { groups: 'new' } });
  });

  it('is changed, and tells what was new', async () => {
    const definitions = [node('n1', { rack: 'r1' }), node('x9')];
    expect(await server.ok('PUT', '/definitions', { definitions })).toMatchObject({ changed: ['n1'], created: ['x9'] });
    const more = { definitions: [node('n1', { groups: 'more' })], mode: 'append' };
    await server.ok('PUT', '/definitions', more);
    expect(await server.ok('GET', '/nodes/n1/attrs/groups,rack')).toEqual({ n1: { groups: 'all,more', rack: 'r1' } });
  });

  it('is removed, and names that nothing has are refused or told', async () => {
    const definitions = [{ type: 'node', names: 'n1,nosuch' }];
    expect((await server.call('DELETE', '/definitions', { body: { definitions } })).status).toBe(404);
    expect(await server.ok('DELETE', '/definitions', { definitions, missing: 'skip' })).toEqual({
      removed: ['n1'],
      missing: [{ type: 'node', name: 'nosuch' }],
    });
  });

  it('may name members that nobody knows, if it says so', async () => {
    const definitions = [{ type: 'group', names: 'g1', attributes: { members: 'n1,nosuch' } }];
    expect((await server.call('POST', '/definitions', { body: { definitions } })).status).toBe(404);
    const made = await server.ok('POST', '/definitions', { definitions, members: 'skip' });
    expect(made).toMatchObject({ created: ['g1'], unknownMembers: ['nosuch'] });
    expect(await server.ok('GET', '/groups/g1')).toMatchObject({ g1: { members: 'n1' } });
  });
});

describe('a set of definitions that also removes', () => {
  const remove = [{ type: 'node', names: 'n2,nosuch' }];
  const put = (body: object, token?: string) =>
    server.call('PUT', '/definitions', { body, ...(token ? { token } : {}) });

  it('is one change, and names of nothing are passed over', async () => {
    const before = Number(await revision());
    const definitions = [node('n1', { rack: 'r1' }), node('x1'), net9];
    expect(await server.ok('PUT', '/definitions', { definitions, remove })).toEqual({
      changed: ['n1'],
      created: ['x1', 'net9'],
      removed: ['n2'],
      messages: [],
    });
    expect(Number(await revision())).toBe(before + 1);
    expect(await server.ok('GET', '/nodes')).toEqual(['n1', 'n3', 'x1']);
    await server.ok('POST', `/changes/${before + 1}/revert`);
    expect(await server.ok('GET', '/nodes')).toEqual(['n1', 'n2', 'n3']);
  });

  it('does nothing if one of them is wrong, or in both', async () => {
    const bad = await put({ definitions: [node('n1', { nosuch: 'x' })], remove });
    const both = await put({ definitions: [node('n1-n2', { rack: 'r1' })], remove });
    expect([bad.status, both.status]).toEqual([403, 403]);
    expect(both.json.error).toEqual(['node n2 is both to be changed and to be removed; ask for one of them.']);
    expect((await put({ definitions: [], remove: [{ type: 'site', names: 'clustersite' }] })).status).toBe(403);
    expect(await server.ok('GET', '/nodes')).toEqual(['n1', 'n2', 'n3']);
  });

  it('needs the right to remove, on all that comes of it', async () => {
    await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=op', { password: 'op-password' });
    await server.ok('PUT', '/policy/2', { name: 'op', commands: 'chdef,lsdef', rule: 'allow' });
    const account = { userName: 'op', userPW: 'op-password' };
    const token = (await server.ok('POST', '/tokens', account, { token: null })).token.id as string;
    const body = { definitions: [node('n1', { rack: 'r1' })], remove: [{ type: 'node', names: 'n2' }] };
    const refused = await put(body, token);
    expect([refused.status, refused.json.error[0]]).toEqual([403, expect.stringContaining('may not run rmdef')]);
    await server.ok('PUT', '/policy/3', { name: 'op', commands: 'rmdef', noderange: 'n3', rule: 'allow' });
    expect((await put(body, token)).status).toBe(403);
    expect((await put({ ...body, remove: [{ type: 'node', names: 'n3' }] }, token)).status).toBe(403);
    expect(await server.ok('GET', '/nodes/n1-n3/attrs/rack')).toEqual({
      n1: { rack: '' },
      n2: { rack: '' },
      n3: { rack: '' },
    });
    await server.ok('PUT', '/policy/3', { name: 'op', commands: 'rmdef', noderange: 'n1-n3', rule: 'allow' });
    expect((await put(body, token)).status).toBe(200);
    expect(await server.ok('GET', '/nodes')).toEqual(['n1', 'n3']);
  });
});

describe('a set of definitions that was read earlier', () => {
  const put = (body: object) => server.call('PUT', '/definitions', { body });
  const definitions = [node('n1,n9', { groups: 'all', rack: 'r1' }), net9];

  it.each([
    ['changed', 'node n1 was', ['PUT', '/nodes/n1', { arch: 'x86_64' }]],
    ['removed', 'node n1 was', ['DELETE', '/nodes/n1', undefined]],
    ['made', 'network net9 was', ['POST', '/networks/net9', { net: '10.8.0.0', mask: '255.255.0.0' }]],
    ['given a secret', 'node n1 was', ['PUT', '/tables/ipmi/rows/node=n1', { password: 'secret' }]],
    ['changed, several of them,', 'node n1, node n9 were', ['PUT', '/nodes/n1,n9', { groups: 'x' }]],
  ] as const)('names what was %s since, and does nothing', async (_what, names, [method, path, body]) => {
    const since = Number(await revision());
    await server.ok(method, path, body);
    const before = await server.ok('GET', '/tables/nodelist,nodepos,networks/rows');
    const { status, json } = await put({ definitions, since });
    expect([status, json.error[0]]).toEqual([
      412,
      expect.stringContaining(`${names} changed since revision ${since}, and nothing was done.`),
    ]);
    expect(await server.ok('GET', '/tables/nodelist,nodepos,networks/rows')).toEqual(before);
    expect((await put({ definitions, since: Number(await revision()) })).status).toBe(200);
  });

  it('is written where only others were changed, or what becomes known by itself', async () => {
    const since = Number(await revision());
    await server.ok('PUT', '/nodes/n3', { arch: 'x86_64' });
    await server.ok('PUT', '/tables/nodelist/rows/node=n1', { status: 'booted' });
    expect((await put({ definitions, since })).status).toBe(200);
  });

  it('names what was to be removed, too', async () => {
    const since = Number(await revision());
    await server.ok('PUT', '/nodes/n2', { arch: 'x86_64' });
    const reply = await put({ definitions: [], remove: [{ type: 'node', names: 'n2-n3' }], since });
    expect([reply.status, reply.json.error[0]]).toEqual([412, expect.stringContaining('node n2 was changed')]);
    expect(await server.ok('GET', '/nodes')).toEqual(['n1', 'n2', 'n3']);
    expect((await put({ definitions, since: since + 1_000_000 })).status).toBe(404);
  });

  it('names a group whose members are given if others joined it', async () => {
    await server.ok('POST', '/definitions', {
      definitions: [{ type: 'group', names: 'few', attributes: { members: 'n1,n2' } }],
    });
    const since = Number(await revision());
    await server.ok('PUT', '/definitions', { definitions: [node('n3', { groups: 'few' })], mode: 'append' });
    const few = (attributes: object) => ({ definitions: [{ type: 'group', names: 'few', attributes }], since });
    const reply = await put(few({ members: 'n1' }));
    expect([reply.status, reply.json.error[0]]).toEqual([412, expect.stringContaining('group few was changed')]);
    expect(Object.keys(await server.ok('GET', '/nodes/few'))).toEqual(['n1', 'n2', 'n3']);
    expect((await put(few({ rack: 'r1' }))).status).toBe(200);
  });

  it('is not removed if it was changed', async () => {
    const remove = (since: number) =>
      server.call('DELETE', '/definitions', { body: { definitions: [{ type: 'node', names: 'n2-n3' }], since } });
    const since = Number(await revision());
    await server.ok('PUT', '/nodes/n2', { arch: 'x86_64' });
    const reply = await remove(since);
    expect([reply.status, reply.json.error[0]]).toEqual([412, expect.stringContaining('node n2 was changed')]);
    expect(await server.ok('GET', '/nodes')).toEqual(['n1', 'n2', 'n3']);
    expect((await remove(Number(await revision()))).status).toBe(200);
  });
});

describe('reading any type', () => {
  it('shows hidden nodes, passes over missing ones and leaves out common scripts where asked', async () => {
    await server.ok('PUT', '/nodes/n3', { hidden: '1' });
    await server.ok('PUT', '/tables/postscripts/rows/node=xcatdefaults', { postscripts: 'syslog' });
    expect(await server.ok('GET', '/definitions/node')).toEqual(['n1', 'n2']);
    expect(await server.ok('GET', '/definitions/node?hidden=1')).toEqual(['n1', 'n2', 'n3']);
    expect(Object.keys(await server.ok('GET', '/definitions/node/ALLRESOURCES?hidden=1'))).toEqual(['n1', 'n2', 'n3']);
    expect((await server.call('GET', '/definitions/node/n1,nosuch')).status).toBe(404);
    expect(await server.ok('GET', '/definitions/node/n1,nosuch?skip=missing')).toEqual({
      n1: { groups: 'all', postscripts: 'syslog' },
    });
    expect(await server.ok('GET', '/definitions/node/n1?scripts=own')).toEqual({ n1: { groups: 'all' } });
    expect((await server.call('GET', '/definitions/node?hidden=yes')).status).toBe(400);
  });

  it('lists the types, and none of another name', async () => {
    expect(await server.ok('GET', '/definitions')).toEqual(expect.arrayContaining(['node', 'zone', 'rack']));
    expect((await server.call('GET', '/definitions/nosuch')).status).toBe(403);
  });
});

describe('another name', () => {
  it('is given to objects of any type', async () => {
    await server.ok('POST', '/definitions', { definitions: [net9] });
    await server.ok('PUT', '/definitions/network/net9/rename', { name: 'net99' });
    expect(await server.ok('GET', '/networks')).toEqual(['net99']);
    await server.ok('PUT', '/groups/all', { rack: 'r1' });
    await server.ok('PUT', '/definitions/group/all/rename', { name: 'every' });
    expect(await server.ok('GET', '/tables/nodepos/rows')).toEqual({ nodepos: [{ node: 'every', rack: 'r1' }] });
    expect((await server.call('PUT', '/definitions/node/n1/rename', { body: { name: 'n2' } })).status).toBe(403);
  });
});

describe('an error with details', () => {
  const detailed = { headers: { Prefer: 'errors=detailed' } };
  it('has its kind, unknown names and the words of the reference system', async () => {
    const { json } = await server.call('GET', '/nodes/n1,nosuch', detailed);
    expect(json).toMatchObject({ errorcode: 1, kind: 'unknown-object', missing: ['nosuch'] });
    expect(json.reference).toEqual(["Could not find an object named 'nosuch' of type 'node'."]);
  });

  it('is as ever for those who do not ask, and at the other root', async () => {
    const members = async (options: object) => Object.keys((await server.call('GET', '/nodes/nosuch', options)).json);
    expect(await members({})).toEqual(['error', 'errorcode']);
    expect(await members({ ...detailed, root: '/xcatws' })).toEqual(['error', 'errorcode']);
  });
});
