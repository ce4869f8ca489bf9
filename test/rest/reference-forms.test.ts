import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { written } from '../harness/output.ts';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
  await server.ok('POST', '/nodes/n1', { groups: 'all,a: b'.split(',')[0], usercomment: 'a": "b' });
});
afterAll(() => server.stop());

const text = async (path: string, root: string) => (await server.call('GET', path, { root })).text;

it('pretty=1 has no blank behind names at /xcatws, whatever stands in values', async () => {
  expect(await text('/nodes/n1?pretty=1', '/xcatws')).toBe(
    '{\n   "n1":{\n      "groups":"all",\n      "usercomment":"a\\": \\"b"\n   }\n}\n',
  );
  expect(await text('/nodes/n1?pretty=1', '/muster')).toContain('"groups": "all"');
  expect(await text('/tables/nodelist/nodes/n1/groups?pretty=1', '/xcatws')).toContain('"groups":"all"');
  expect(await text('/nodes?pretty=1', '/xcatws')).toBe('[\n   "n1"\n]\n');
});

it.each(['/muster', '/xcatws'])('pretty=1 holds for errors and for the groups of resources at %s', async (root) => {
  const colon = root === '/muster' ? ': ' : ':';
  expect(await text('/nodes/nosuch?pretty=1', root)).toContain(`{\n   "error"${colon}[\n      "`);
  expect(await text('/nothing?pretty=1', root)).toContain(`{\n   "error"${colon}[\n      "`);
  expect(await text('/nodes/nosuch?pretty=0', root)).toContain('{"error":["');
  expect(await text('?pretty=1', root)).toMatch(/^\[\n {3}"\w+",\n {3}"\w+",\n/);
});

it('a network gets another net before its gateway, which is told', async () => {
  await server.ok('POST', '/networks/net1', { net: '10.1.0.0', mask: '255.255.0.0', gateway: '10.1.0.1' });
  const moved = await server.call('PUT', '/networks/net1', { body: { net: '10.2.0.0' } });
  expect([moved.status, moved.headers['x-muster-note']]).toEqual([
    200,
    expect.stringContaining('10.1.0.1 is not inside 10.2.0.0/16'),
  ]);
  expect((await server.call('PUT', '/networks/net1', { body: { gateway: '10.3.0.1' } })).status).toBe(403);
  const followed = await server.call('PUT', '/networks/net1', { body: { gateway: '10.2.0.1' } });
  expect([followed.status, followed.headers['x-muster-note']]).toEqual([200, undefined]);
});

it('a template is named in the query by those who send no body with GET', async () => {
  const { 'switch-template': template } = await server.ok('GET', '/templates/node?template=switch-template');
  expect(template.mgt).toBe('switch');
  expect(await server.ok('GET', '/templates/node', { options: { '--template': 'switch-template' } })).toEqual({
    'switch-template': template,
  });
});

it.each([
  ['/nodes/n1/power', 'action', 400, 404],
  ['/nodes/n1/nextboot', 'order', 400, 404],
  ['/nodes/n1/beacon', 'action', 400, 403],
])('PUT %s needs its %s, and the OpenAPI document says so', async (path, member, atMuster, atXcatws) => {
  for (const [root, status] of [
    ['/muster', atMuster],
    ['/xcatws', atXcatws],
  ] as const) {
    const reply = await server.call('PUT', path, { root, body: {} });
    expect([reply.status, reply.json.error]).toEqual([status, [`The body lacks the member "${member}".`]]);
  }
  const { paths } = (await server.call('GET', '/openapi.json')).json;
  const { requestBody } = paths[path.replace('n1', '{noderange}')].put;
  expect([requestBody.required, requestBody.content['application/json'].schema.required]).toEqual([true, [member]]);
});

describe('attributes in the query of PUT', () => {
  const read = async () => (await server.ok('GET', '/nodes/n1/attrs/rack,unit,groups')).n1;

  it('count at /xcatws, before those of the body, and several of one name are a list', async () => {
    const put = await server.call('PUT', '/nodes/n1?rack=r1&pretty=1', {
      root: '/xcatws',
      body: { rack: 'r2', unit: '3' },
    });
    expect([put.status, await read()]).toEqual([200, { rack: 'r1', unit: '3', groups: 'all' }]);
    await server.ok('PUT', '/nodes/n1?rack=&groups=all&groups=lab', undefined, { root: '/xcatws' });
    expect(await read()).toEqual({ rack: '', unit: '3', groups: 'all,lab' });
    await server.ok('PUT', '/globalconf/attrs/domain?domain=lab.example', undefined, { root: '/xcatws' });
    expect(await server.ok('GET', '/globalconf/attrs/domain')).toEqual({ clustersite: { domain: 'lab.example' } });
    expect((await server.call('PUT', '/nodes/n1?__proto__=x', { root: '/xcatws' })).status).toBe(403);
  });

  it('are judged, kept out of the log and hidden in the audit log like those of the body', async () => {
    await server.ok('PUT', '/nodes/n1?mgt=ipmi&bmcpassword=tops3cret', undefined, { root: '/xcatws' });
    expect((await server.ok('GET', '/nodes/n1/attrs/bmcpassword')).n1.bmcpassword).toBe('********');
    expect(JSON.stringify(await server.ok('GET', '/tables/auditlog/rows'))).not.toContain('tops3cret');
    expect(await written(server)).not.toContain('tops3cret');
    await server.ok('PUT', '/nodes/n1', { mgt: '', bmcpassword: '' });
  });

  it.each([
    ['PUT', '/muster', 400],
    ['POST', '/xcatws', 403],
    ['GET', '/xcatws', 200],
  ])('are none for %s at %s', async (method, root, status) => {
    expect((await server.call(method, '/nodes/n1?rack=r9', { root })).status).toBe(status);
    expect((await read()).rack).toBe('');
  });
});

it('hidden nodes are among the members of groups and in their rows at /xcatws', async () => {
  await server.ok('POST', '/nodes/h1,h2', { groups: 'shy', arch: 'x86_64' });
  await server.ok('PUT', '/nodes/h2', { hidden: '1' });
  const at = async (root: string) => [
    (await server.ok('GET', '/groups/shy', undefined, { root })).shy.members,
    (await server.ok('GET', '/groups/shy/attrs/members', undefined, { root })).shy.members,
    (await server.ok('GET', '/tables/nodetype/nodes/shy', undefined, { root })).nodetype.length,
    (await server.ok('GET', '/tables/nodetype/nodes/ALLNODES', undefined, { root })).nodetype.length,
  ];
  expect(await at('/xcatws')).toEqual(['h1,h2', 'h1,h2', 2, 2]);
  expect(await at('/muster')).toEqual(['h1', 'h1', 1, 1]);
  expect(Object.keys(await server.ok('GET', '/nodes/shy', undefined, { root: '/xcatws' }))).toEqual(['h1']);
});

it('one pattern for several nics is shown as one for each', async () => {
  const addresses = String.raw`|n(\d+)|eth0!10.0.0.($1+10),eth1!(ipadd(10,1,0,0,$1,0,0))|`;
  await server.ok('PUT', '/groups/nics', { members: 'n1' });
  await server.ok('PUT', '/tables/nics/rows/node=nics', { nicips: addresses, nicnetworks: '|eth0!net($1),eth1!lab|' });
  expect((await server.ok('GET', '/groups/nics')).nics).toMatchObject({
    'nicips.eth0': String.raw`|n(\d+)|10.0.0.($1+10)|`,
    'nicips.eth1': String.raw`|n(\d+)|(ipadd(10,1,0,0,$1,0,0))|`,
    'nicnetworks.eth0': '|net($1)|',
    'nicnetworks.eth1': '|lab|',
  });
  const node = { 'nicips.eth0': '10.0.0.11', 'nicips.eth1': '10.1.0.1' };
  expect((await server.ok('GET', '/nodes/n1')).n1).toMatchObject(node);
  await server.ok('PUT', '/groups/nics', { 'nicips.eth2': '10.2.0.1' });
  expect((await server.ok('GET', '/nodes/n1')).n1).toMatchObject({ ...node, 'nicips.eth2': '10.2.0.1' });
});

it.each([
  ['/osimages/absent', { pkglist: null }],
  ['/policy/7.7', { name: '' }],
])('PUT %s that only clears makes nothing', async (path, body) => {
  expect((await server.call('PUT', path, { body, root: '/xcatws' })).status).toBe(403);
  expect((await server.call('PUT', path, { body })).status).toBe(404);
  expect((await server.call('GET', path)).status).toBe(404);
});

it('a value has up to 64 KiB', async () => {
  const value = 'x'.repeat(65_536);
  await server.ok('PUT', '/nodes/n1', { usercomment: value });
  expect((await server.ok('GET', '/nodes/n1/attrs/usercomment')).n1.usercomment).toBe(value);
  expect((await server.call('PUT', '/nodes/n1', { body: { usercomment: `${value}x` } })).status).toBe(403);
});
