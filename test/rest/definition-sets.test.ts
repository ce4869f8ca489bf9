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
