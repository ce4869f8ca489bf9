import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  await server.ok('POST', '/nodes/n1,n2', { groups: 'all', options: { '-f': '' } });
  await server.ok('PUT', '/networks/net1', { net: '10.0.0.0', mask: '255.0.0.0' });
});

const tagOf = async (path: string): Promise<string> => String((await server.call('GET', path)).headers['etag']);
const write = (method: string, path: string, tag: string, body?: unknown, root = '/muster') =>
  server.call(method, path, { root, headers: { 'If-Match': tag }, ...(body === undefined ? {} : { body }) });

describe.each(['/muster', '/xcatws'])('a write with If-Match at %s', (root) => {
  it('is done while nothing has changed', async () => {
    expect((await write('PUT', '/nodes/n1', await tagOf('/nodes/n1'), { rack: 'r1' }, root)).status).toBe(200);
    expect(await server.ok('GET', '/nodes/n1/attrs/rack')).toEqual({ n1: { rack: 'r1' } });
    expect((await write('DELETE', '/networks/net1', await tagOf('/networks/net1'), undefined, root)).status).toBe(200);
    expect(await server.ok('GET', '/networks')).toEqual([]);
  });

  it('changes nothing after something has', async () => {
    const [node, network] = [await tagOf('/nodes/n1'), await tagOf('/networks/net1')];
    await server.ok('PUT', '/nodes/n1', { rack: 'newer' });
    await server.ok('PUT', '/networks/net1', { mgtifname: 'eth0' });
    const refused = await write('PUT', '/nodes/n1', node, { rack: 'r1' }, root);
    expect([refused.status, refused.json.errorcode]).toEqual([412, 6]);
    expect(refused.json.error[0]).toContain('If-Match does not hold, and nothing was done.');
    expect((await write('DELETE', '/nodes/n1', node, undefined, root)).status).toBe(412);
    expect((await write('DELETE', '/networks/net1', network, undefined, root)).status).toBe(412);
    expect((await write('PUT', '/nodes', node, { n1: { rack: 'r1' } })).status).toBe(412);
    expect(await server.ok('GET', '/nodes/n1/attrs/rack')).toEqual({ n1: { rack: 'newer' } });
    expect(await server.ok('GET', '/networks')).toEqual(['net1']);
  });
});

it('a tag of another form of the reply, and one of several, will do', async () => {
  const pretty = await tagOf('/nodes/n1?pretty=1');
  expect((await write('PUT', '/nodes/n1', `"no", ${pretty}`, { rack: 'r1' })).status).toBe(200);
});

it.each(['"unknown"', 'W/"x.1.0"', 'nonsense'])('a tag that muster never gave, %s, is refused', async (tag) => {
  expect((await write('PUT', '/nodes/n1', tag, { rack: 'r1' })).status).toBe(412);
});

it('* means that there is something to change', async () => {
  expect((await write('PUT', '/nodes/n1', '*', { rack: 'r1' })).status).toBe(200);
  expect((await write('PUT', '/networks/net9', '*', { net: '11.0.0.0', mask: '255.0.0.0' })).status).toBe(412);
  expect(await server.ok('GET', '/networks')).toEqual(['net1']);
});

it('what has no tag cannot be written with one', async () => {
  const refused = await write('PUT', '/tables/site/rows/key=domain', await tagOf('/nodes/n1'), { value: 'a.b' });
  expect([refused.status, refused.json.error[0]]).toEqual([412, expect.stringContaining('Nothing here has an ETag.')]);
});

it('of two that began from the same state only one wins', async () => {
  const tag = await tagOf('/nodes/n1');
  const replies = await Promise.all(['a', 'b', 'c'].map((rack) => write('PUT', '/nodes/n1', tag, { rack })));
  expect(replies.map(({ status }) => String(status)).sort()).toEqual(['200', '412', '412']);
});
