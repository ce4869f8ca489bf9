import { afterAll, beforeAll, expect, it } from 'vitest';
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
  expect(await text('?pretty=1', root)).toMatch(/^\[\n {3}"discovery",\n {3}"globalconf",\n/);
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
