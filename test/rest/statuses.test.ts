import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CallOptions, Reply } from '../harness/client.ts';
import { errorOf } from '../harness/errors.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser, defineNodes } from '../harness/users.ts';

let server: TestServer;
let stranger: string;
beforeAll(async () => {
  server = await startServer();
  await defineNodes(server, 'n1,n2', { mgt: 'ipmi' });
  await server.ok('POST', '/osimages/img', { osvers: 'rocky9.2' });
  await server.ok('POST', '/networks/net1', { net: '10.1.0.0', mask: '255.255.0.0' });
  stranger = await addUser(server, 'stranger');
});
afterAll(() => server.stop());

const json = { 'Content-Type': 'application/json' };
const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const multipart = { 'Content-Type': 'multipart/form-data; boundary=x' };

/** One row of the table of errors: what is sent, the status at /muster, the status at /xcatws, the code. */
type Case = [what: string, request: string, options: CallOptions, muster: number, xcatws: number, code: number];

const cases: Case[] = [
  ['a URL beyond 64 KiB', `GET /nodes/${'n'.repeat(65_536)}`, {}, 400, 400, 2],
  ['headers beyond 80 KiB', 'GET /nodes', { headers: { 'X-Long': 'x'.repeat(82_000) } }, 400, 400, 2],
  ['a body beyond 1 MiB', 'PUT /nodes/n1', { body: `{"a":"${'x'.repeat(1_048_576)}"}` }, 400, 400, 2],
  ['a body nested too deep', 'PUT /nodes/n1', { body: `{"a":${'['.repeat(33)}${']'.repeat(33)}}` }, 400, 400, 2],
  ['a body that is no JSON', 'PUT /nodes/n1', { body: 'groups=all' }, 400, 400, 2],
  [
    'a body that is no JSON, as text',
    'PUT /nodes/n1',
    { body: 'x', headers: { 'Content-Type': 'text/plain' } },
    400,
    400,
    2,
  ],
  ['a body that is no object', 'PUT /nodes/n1', { body: '["groups"]' }, 400, 400, 2],
  ['a member of the wrong type', 'PUT /nodes/n1/rename', { body: { newNode: ['n9'] } }, 400, 400, 2],
  ['options of the wrong type', 'PUT /nodes/n1', { body: { options: '-p' } }, 400, 400, 2],
  ['an option of the wrong type', 'PUT /nodes/n1', { body: { options: { '-p': {} } } }, 400, 400, 2],
  ['a missing member', 'PUT /nodes/n1/rename', { body: {} }, 400, 403, 2],
  ['a missing body', 'PUT /nodes/n1/rename', {}, 400, 403, 2],
  ['a missing table', 'PUT /tables/nodetype/nodes/n1', { body: {} }, 400, 403, 2],
  ['no credentials', 'GET /nodes', { token: null }, 401, 401, 2],
  ['an empty token', 'GET /nodes', { token: null, headers: { 'X-Auth-Token': '' } }, 401, 401, 2],
  ['an unknown account', 'GET /nodes', { token: null, query: { userName: 'nobody', userPW: 'x' } }, 401, 401, 2],
  [
    'a refusal by the policy',
    'GET /nodes/n2,n1',
    {
      get token() {
        return stranger;
      },
    },
    403,
    401,
    2,
  ],
  ['an unknown path', 'GET /nothing', {}, 404, 404, 2],
  ['a path that goes on', 'GET /nodes/n1/attrs/mgt/more', {}, 404, 404, 2],
  ['a path that is a prefix', 'GET /node', {}, 404, 404, 2],
  ['an empty segment', 'GET /nodes//attrs/mgt', {}, 404, 404, 2],
  ['an empty segment at the end', 'GET /nodes//', {}, 404, 404, 2],
  ['PUT of ALLRESOURCES', 'PUT /nodes/ALLRESOURCES', { body: { mgt: 'kvm' } }, 404, 404, 2],
  ['POST of ALLRESOURCES', 'POST /osimages/ALLRESOURCES', { body: { osvers: 'x' } }, 404, 404, 2],
  ['DELETE of ALLRESOURCES', 'DELETE /networks/ALLRESOURCES', {}, 404, 404, 2],
  ['DELETE of ALLRESOURCES', 'DELETE /policy/ALLRESOURCES', {}, 404, 404, 2],
  ['an unknown node', 'GET /nodes/nosuch', {}, 404, 403, 1],
  ['an unknown name in a range', 'DELETE /nodes/n1,nosuch', {}, 404, 403, 1],
  ['an unknown image', 'GET /osimages/nosuch', {}, 404, 403, 1],
  ['an unknown network', 'DELETE /networks/nosuch', {}, 404, 403, 1],
  ['an unknown policy', 'GET /policy/77', {}, 404, 403, 1],
  ['an unknown group', 'GET /groups/nosuch', {}, 404, 403, 1],
  ['an unknown table', 'GET /tables/nosuch/rows', {}, 404, 403, 1],
  ['an unknown table to write', 'PUT /tables/nosuch/rows/a=b', { body: { c: 'd' } }, 404, 403, 1],
  ['an unknown row', 'GET /tables/routes/rows/routename=nosuch', {}, 404, 403, 1],
  ['an unknown template', 'GET /templates/node', { body: { options: { '--template': 'nosuch' } } }, 404, 403, 1],
  ['an unknown run', 'GET /runs/0b1ef7f5-6a6c-4c0e-9a51-1f7d7f1c5c11', {}, 404, 403, 1],
  ['an invalid attribute name', 'PUT /nodes/n1', { body: { bogus: 'x' } }, 403, 403, 1],
  ['an invalid attribute value', 'PUT /nodes/n1', { body: { bmc: 'not an address' } }, 403, 403, 1],
  ['an attribute that does not exist', 'GET /nodes/n1/attrs/bogus', {}, 403, 403, 1],
  ['an invalid node name', 'POST /nodes/n.1', { body: { groups: 'all' } }, 403, 403, 1],
  ['a node that exists', 'POST /nodes/n1', { body: { groups: 'all' } }, 403, 403, 1],
  ['an image that exists', 'POST /osimages/img', { body: { osvers: 'x' } }, 403, 403, 1],
  ['a network that exists', 'POST /networks/net1', { body: { net: '10.9.0.0', mask: '255.255.0.0' } }, 403, 403, 1],
  ['an unknown option', 'PUT /nodes/n1', { body: { options: { '-z': '' } } }, 403, 403, 1],
  ['an unknown column', 'PUT /tables/routes/rows/routename=r1', { body: { bogus: 'x' } }, 403, 403, 1],
  ['rows of nodes in a table without', 'GET /tables/routes/nodes/n1', {}, 403, 403, 1],
  ['keys for several tables', 'GET /tables/routes,networks/rows/net=10.1.0.0', {}, 400, 400, 2],
  ['a malformed range', 'GET /nodes/n[a-b]', {}, 403, 403, 1],
  ['a reversed range', 'GET /nodes/n2-n1', {}, 403, 403, 1],
  ['PUT on an empty range', 'PUT /nodes/n1,-n1', { body: { mgt: 'kvm' } }, 403, 403, 1],
  ['DELETE on an empty range', 'DELETE /nodes/n1,-n1', {}, 403, 403, 1],
  ['a range over the limit', 'GET /nodes/n[1-1000001]', {}, 403, 403, 1],
  ['a method not offered', 'DELETE /nodes', {}, 405, 405, 2],
  ['PATCH', 'PATCH /nodes/n1', {}, 405, 405, 2],
  ['OPTIONS', 'OPTIONS /nodes', {}, 405, 405, 2],
  ['X-Expect-Nodes that does not hold', 'GET /nodes/n1', { headers: { 'X-Expect-Nodes': '2' } }, 417, 417, 6],
  ['X-Expect-Nodes without objects', 'GET /globalconf', { headers: { 'X-Expect-Nodes': '1' } }, 417, 417, 6],
  ['X-Expect-Nodes that is no number', 'GET /nodes/n1', { headers: { 'X-Expect-Nodes': 'one' } }, 400, 400, 2],
  ['an Expect we do not know', 'GET /nodes', { headers: { Expect: 'the-unexpected' } }, 417, 417, 6],
  ['a path that cannot be decoded', 'GET /nodes/%ZZ', {}, 400, 400, 2],
];

describe.each([
  ['/muster', 3],
  ['/xcatws', 4],
] as const)('errors at %s', (root, column) => {
  it.each(cases)('%s: %s', async (...[, request, options, , , code]) => {
    const row = cases.find((each) => each[1] === request && each[2] === options)!;
    const [method, path] = request.split(' ', 2) as [string, string];
    expect(errorOf(await server.call(method, path, { root, ...options }))).toEqual([row[column], code]);
  });

  it('names user, command and what was asked for in a refusal by the policy', async () => {
    const reply = await server.call('GET', '/nodes/n2,n1', { root, token: stranger });
    const sentences = reply.json.error;
    if (root === '/xcatws') expect(sentences.shift()).toBe('Authentication failure');
    expect(sentences).toEqual(['User "stranger" may not run lsdef on n2,n1: no policy rule allows it.']);
  });

  it('allows the methods of a path in a header', async () => {
    const reply = await server.call('PATCH', '/nodes/n1', { root });
    const head = root === '/muster' ? 'HEAD, ' : '';
    expect(reply.headers['allow']).toBe(`GET, ${head}PUT, POST, DELETE`);
  });
});

/** What only /muster refuses, and the status at /xcatws, which ignores it. */
const strictness: [what: string, request: string, options: CallOptions, muster: number, xcatws: number][] = [
  ['an unknown query parameter', 'GET /nodes', { query: { format: 'xml' } }, 400, 200],
  ['an unknown query parameter in another case', 'GET /nodes', { query: { Pretty: 1 } }, 400, 200],
  ['a form', 'PUT /nodes/n1', { body: 'mgt=kvm', headers: form }, 400, 200],
  ['a multipart form', 'PUT /nodes/n1', { body: '--x--', headers: multipart }, 400, 200],
  ['an Accept without JSON', 'GET /nodes', { headers: { Accept: 'text/html' } }, 406, 200],
  ['an Accept that rules JSON out', 'GET /nodes', { headers: { Accept: 'application/json;q=0' } }, 406, 200],
];

describe('what is refused at /muster and ignored at /xcatws', () => {
  it.each(strictness)('%s', async (_what, request, options, atMuster, atXcatws) => {
    const [method, path] = request.split(' ', 2) as [string, string];
    expect(errorOf(await server.call(method, path, options))).toEqual([atMuster, 2]);
    expect((await server.call(method, path, { root: '/xcatws', ...options })).status).toBe(atXcatws);
    expect(await server.ok('GET', '/nodes/n1/attrs/mgt')).toEqual({ n1: { mgt: 'ipmi' } });
  });

  it('an unknown member of an action body', async () => {
    const body = { newNode: 'n1b', more: 1 };
    expect(errorOf(await server.call('PUT', '/nodes/n1/rename', { body }))).toEqual([400, 2]);
    expect((await server.call('PUT', '/nodes/n1/rename', { root: '/xcatws', body })).status).toBe(200);
    await server.ok('PUT', '/nodes/n1b/rename', { newNode: 'n1' });
  });

  it.each(['application/json', '*/*', 'application/*', 'text/html, application/json;q=0.5', ''])(
    'Accept: %s gets JSON everywhere',
    async (accept) => {
      const reply = await server.call('GET', '/nodes', { headers: { Accept: accept } });
      expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    },
  );
});

describe('a success', () => {
  it.each(['/muster', '/xcatws'])('is 201 for POST and 200 for the others at %s', async (root) => {
    const statuses: number[] = [];
    for (const [method, body] of [
      ['POST', { groups: 'all' }],
      ['PUT', { mgt: 'kvm' }],
      ['GET', undefined],
      ['DELETE', undefined],
    ] as const)
      statuses.push((await server.call(method, '/nodes/n7', { root, ...(body ? { body } : {}) })).status);
    expect(statuses).toEqual([201, 200, 200, 200]);
  });
});

/** A request that renames n1 to n9, and what can be wrong with it, in the order of the checks. */
interface Rename {
  method: string;
  path: string;
  query: string;
  accept: string;
  body: string;
  token: string | null;
}

const faults: [check: string, spoil: (rename: Rename) => void, sign: (reply: Reply) => boolean][] = [
  ['size', (r) => (r.query = `?pretty=${'1'.repeat(66_000)}`), ({ text }) => text.includes('The URL is longer')],
  [
    'path',
    (r) => (r.path = r.path.replace('/nodes', '/nothing')),
    ({ status, json: { errorcode } }) => status === 404 && errorcode === 2,
  ],
  ['method', (r) => (r.method = 'PATCH'), ({ status }) => status === 405],
  ['Accept', (r) => (r.accept = 'text/html'), ({ status }) => status === 406],
  ['JSON', (r) => (r.body = '{'), ({ text }) => text.includes('The body is not JSON')],
  ['credentials', (r) => (r.token = null), ({ status }) => status === 401],
  ['body', (r) => (r.body = '{}'), ({ text }) => text.includes('lacks the member')],
  // Who may do nothing learns nothing about what there is.
  ['policy', (r) => (r.token = stranger), ({ status, json: { errorcode } }) => status === 403 && errorcode === 2],
  [
    'range',
    (r) => (r.path = r.path.replace('n1', 'nosuch')),
    ({ status, json: { errorcode } }) => status === 404 && errorcode === 1,
  ],
  ['run', (r) => (r.body = '{"newNode":"n2"}'), ({ status, json: { errorcode } }) => status === 403 && errorcode === 1],
];

/** Faults that spoil the same part of a request cannot meet. */
const apart = new Set(['JSON body', 'JSON run', 'body run', 'credentials policy']);

describe('the order of the checks', () => {
  const pairs = faults.flatMap((first, i) => faults.slice(i + 1).map((second) => [first, second] as const));
  const possible = pairs.filter(([[first], [second]]) => !apart.has(`${first} ${second}`));

  it.each(possible.map(([first, second]) => [first[0], second[0], first, second] as const))(
    '%s comes before %s',
    async (_first, _second, [, spoil, sign], [, spoilToo]) => {
      const good: Rename = {
        method: 'PUT',
        path: '/nodes/n1/rename',
        query: '',
        accept: '*/*',
        body: '{"newNode":"n9"}',
        token: server.token,
      };
      spoilToo(good);
      spoil(good);
      const { method, path, query, accept, body, token } = good;
      const reply = await server.call(method, path + query, { token, body, headers: { Accept: accept, ...json } });
      expect(sign(reply) || reply.text).toBe(true);
    },
  );
});
