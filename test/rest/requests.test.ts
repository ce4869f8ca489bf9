import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { written } from '../harness/output.ts';
import { rootPassword, startServer, type TestServer } from '../harness/server.ts';
import { addUser, defineNodes, passwordOf } from '../harness/users.ts';

let server: TestServer;
let other: string;
beforeAll(async () => {
  server = await startServer({ environment: { MUSTER_LOG_LEVEL: 'trace' } });
  await defineNodes(server, 'n1-n3', { mgt: 'ipmi' });
  await server.ok('PUT', '/nodes/n1,n2', { groups: 'all,compute' });
  other = await addUser(server, 'other');
  await server.ok('POST', '/policy/5', { name: 'other', commands: 'lstoken', rule: 'allow' });
});
afterAll(() => server.stop());

const root = { userName: 'root', userPW: rootPassword };
const somebody = { userName: 'other', userPW: passwordOf('other') };
const wrong = { userName: 'root', userPW: 'wrong' };
const bothRoots = ['/muster', '/xcatws'];
const closing = 'Host: x\r\nConnection: close\r\n\r\n';

describe.each(bothRoots)('credentials at %s', (at) => {
  const status = async (method: string, options: object) =>
    (await server.call(method, '/nodes/n1', { root: at, token: null, ...options })).status;
  const refused = at === '/muster' ? 403 : 401;

  it('are taken from the query', async () => {
    expect(await status('GET', { query: root })).toBe(200);
    expect(await status('PUT', { query: root, body: { mgt: 'ipmi' } })).toBe(200);
  });

  it('are taken from the body, whatever the method', async () => {
    expect(await status('GET', { body: root })).toBe(200);
    expect(await status('PUT', { body: { ...root, mgt: 'ipmi' } })).toBe(200);
    expect(await status('POST', { body: { ...root, groups: 'all' } })).toBe(403);
    expect(await server.ok('GET', '/nodes/n1')).toEqual({ n1: { groups: 'all,compute', mgt: 'ipmi' } });
  });

  it('in the query win over those in the body', async () => {
    expect(await status('GET', { query: root, body: wrong })).toBe(200);
    expect(await status('GET', { query: wrong, body: root })).toBe(401);
    expect(await status('GET', { query: { userName: 'root' }, body: { userPW: rootPassword } })).toBe(200);
  });

  it('are ignored when a token is sent', async () => {
    expect(await status('GET', { token: server.token, query: wrong, body: wrong })).toBe(200);
    expect(await status('GET', { token: other, query: root })).toBe(refused);
    expect(await status('GET', { token: 'nonsense', query: root })).toBe(401);
  });

  it('must be an account with its password', async () => {
    expect(await status('GET', { query: somebody })).toBe(refused);
    expect(await status('GET', { query: { ...somebody, userPW: rootPassword } })).toBe(401);
    expect(await status('GET', { query: { userName: 'root' } })).toBe(401);
    expect(await status('GET', { body: { userName: ['root'], userPW: rootPassword } })).toBe(400);
  });
});

describe('the path', () => {
  const names = async (path: string) => (await server.call('GET', `/nodes/${path}/nodels`)).json;

  it.each([
    ['n[1-2]', ['n1', 'n2']],
    ['n[1,3]', ['n1', 'n3']],
    ['n1,n3', ['n1', 'n3']],
    ['n1+1', ['n1', 'n2']],
    ['all@compute', ['n1', 'n2']],
    ['all,-compute', ['n3']],
    ['mgt==ipmi', ['n1', 'n2', 'n3']],
    ['mgt=~ip.*', ['n1', 'n2', 'n3']],
    ['mgt!=ipmi', []],
    ['mgt!~ip.*', []],
    ['%2Fn[12]', ['n1', 'n2']],
    ['%2fn%5b12%5d', ['n1', 'n2']],
    ['%2Fn1|n3', ['n1', 'n3']],
    ['n%31', ['n1']],
    ['n1%2B1', ['n1', 'n2']],
  ])('takes %s as it is', async (path, expected) => {
    expect(await names(path)).toEqual(expected);
  });

  it('takes ^file for what is switched off, and quotes nothing', async () => {
    const reply = await server.call('GET', '/nodes/%5E%2Fetc%2Fpasswd/nodels');
    expect([reply.status, reply.json.errorcode]).toEqual([403, 1]);
    expect(reply.text).not.toContain('root:');
    expect((await server.call('GET', '/nodes/^etc/nodels')).status).toBe(403);
  });

  it.each(['/nodes/', '/nodes/?pretty=0', '/nodes?&pretty=0', '/nodes?', '/nodes?&', '/nodes?pretty=0&'])(
    '%s is /nodes',
    async (path) => {
      for (const at of bothRoots)
        expect((await server.call('GET', path, { root: at })).json).toEqual(['n1', 'n2', 'n3']);
    },
  );

  it('ends with or without a slash everywhere', async () => {
    expect((await server.call('GET', '/nodes/n1/attrs/mgt/')).json).toEqual({ n1: { mgt: 'ipmi' } });
    expect((await server.call('GET', '/', { token: null })).json).toContain('nodes');
    expect((await server.call('GET', '', { token: null })).json).toContain('nodes');
  });

  it('may come as an absolute URL', async () => {
    for (const target of [`https://127.0.0.1:${server.port}/muster/nodes`, 'http://elsewhere/xcatws/nodes?&pretty=0']) {
      const lines = [`GET ${target} HTTP/1.1`, 'Host: x', `X-Auth-Token: ${server.token}`, 'Connection: close', '', ''];
      const answer = await server.client.raw(lines.join('\r\n'));
      expect(answer).toMatch(/^HTTP\/1\.1 200 /);
      expect(answer).toContain('["n1","n2","n3"]');
    }
  });

  it.each([
    ['none', []],
    ['two', ['Host: x', 'Host: y']],
    ['the same twice', ['Host: x', 'host: x']],
    ['one that is none', ['Host: x y']],
    ['one with a path', ['Host: x/../muster']],
    ['one with a user', ['Host: root@x']],
  ])('with a Host header that is %s is refused', async (_what, hosts) => {
    for (const prefix of ['/muster', '/xcatws']) {
      const lines = [
        `GET ${prefix}/nodes HTTP/1.1`,
        ...hosts,
        `X-Auth-Token: ${server.token}`,
        'Connection: close',
        '',
        '',
      ];
      expect(await server.client.raw(lines.join('\r\n'))).toMatch(/^HTTP\/1\.1 400 [^]*The header Host /);
    }
  });

  it.each(['Host: x', 'Host: x:443', 'Host: [::1]:8443', 'Host: 127.0.0.1', 'Host:'])(
    'with %s is taken',
    async (host) => {
      const lines = ['GET /muster/nodes HTTP/1.1', host, `X-Auth-Token: ${server.token}`, 'Connection: close', '', ''];
      expect(await server.client.raw(lines.join('\r\n'))).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  it.each(['/musterx/nodes', '/muste', '/xcatws2/nodes', '/MUSTER/nodes'])('%s is nothing', async (path) => {
    const reply = await server.call('GET', path, { root: '' });
    expect([reply.status, reply.json.errorcode]).toEqual([404, 2]);
  });

  const beginning = `GET /muster/nodes HTTP/1.1\r\nHost: x\r\n`;
  const long = (size: number) => 'x'.repeat(size);
  it.each([
    ['nonsense', 'NONSENSE\r\n\r\n', 'The request is not valid HTTP.'],
    ['a bad header', `${beginning}Bad Header\r\n\r\n`, 'The request is not valid HTTP.'],
    ['a long URL', `GET /muster/${long(66_000)} HTTP/1.1\r\n${closing}`, 'The URL is longer than 65536 characters.'],
    [
      'a long name',
      `GET /muster/nodes/${long(66_000)} HTTP/1.1\r\n${closing}`,
      'The URL is longer than 65536 characters.',
    ],
    ['long headers', `${beginning}X-Long: ${long(90_000)}\r\n\r\n`, 'The headers are larger than 81920 bytes.'],
    ['endless headers', `${beginning}X-Long: ${long(5_000_000)}\r\n\r\n`, 'The headers are larger than 81920 bytes.'],
  ])('of %s gets an answer in our form', async (_what, text, sentence) => {
    const answer = await server.client.raw(text);
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toEqual({ error: [sentence], errorcode: 2 });
  });
});

describe('bodies', () => {
  it.each(['application/json', 'application/json; charset=utf-8', 'text/plain', 'application/octet-stream'])(
    'of PUT are read as JSON: %s',
    async (type) => {
      await server.ok('PUT', '/nodes/n3', { usercomment: type }, { headers: { 'Content-Type': type } });
      expect(await server.ok('GET', '/nodes/n3/attrs/usercomment')).toEqual({ n3: { usercomment: type } });
    },
  );

  it('of PUT without a content type are read as JSON', async () => {
    const body = '{"usercomment":"typeless"}';
    const lines = [
      'PUT /muster/nodes/n3 HTTP/1.1',
      'Host: x',
      `X-Auth-Token: ${server.token}`,
      `Content-Length: ${body.length}`,
      'Connection: close',
    ];
    expect(await server.client.raw(`${lines.join('\r\n')}\r\n\r\n${body}`)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await server.ok('GET', '/nodes/n3/attrs/usercomment')).toEqual({ n3: { usercomment: 'typeless' } });
  });

  it('may wait for the 100 that is always given', async () => {
    const head = [
      'PUT /muster/nodes/n3 HTTP/1.1',
      'Host: x',
      `X-Auth-Token: ${server.token}`,
      'Expect: 100-continue',
      'Content-Length: 2',
      'Connection: close',
    ];
    expect(await server.client.raw(`${head.join('\r\n')}\r\n\r\n{}`)).toMatch(
      /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /,
    );
  });

  it('of GET and DELETE count only as JSON', async () => {
    const text = { body: '{"pretty":1}', headers: { 'Content-Type': 'text/plain' } };
    expect((await server.call('GET', '/nodes', text)).text).not.toContain('\n ');
    expect((await server.call('GET', '/nodes', { body: { pretty: 1 } })).text).toContain('\n   ');
    await defineNodes(server, 'gone');
    expect((await server.call('DELETE', '/nodes/gone', { token: null, body: root })).status).toBe(200);
  });

  it('of forms are refused at /muster, and no body at all at /xcatws', async () => {
    const form = {
      body: 'userName=root&userPW=cluster',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    };
    expect((await server.call('POST', '/tokens', { token: null, ...form })).status).toBe(400);
    expect((await server.call('POST', '/tokens', { token: null, root: '/xcatws', ...form })).status).toBe(401);
    const withQuery = { token: null, root: '/xcatws', query: root, ...form };
    expect((await server.call('POST', '/tokens', withQuery)).status).toBe(201);
  });
});

describe('X-Expect-Nodes', () => {
  const expecting = (count: string, method = 'GET', path = '/nodes/compute', body?: object) =>
    server.call(method, path, { headers: { 'X-Expect-Nodes': count }, ...(body ? { body } : {}) });

  it('lets a request through that selects as many', async () => {
    expect((await expecting('2')).status).toBe(200);
    expect((await expecting('3', 'GET', '/nodes/ALLRESOURCES')).status).toBe(200);
    expect((await expecting('3', 'GET', '/nodes')).status).toBe(200);
    expect((await expecting('0', 'GET', '/nodes/compute,-compute')).status).toBe(200);
    expect((await expecting('2', 'PUT', '/nodes/compute', { mgt: 'ipmi' })).status).toBe(200);
    expect((await expecting('1', 'GET', '/tables/nodehm/nodes/n1')).status).toBe(200);
  });

  it('stops one that selects more or fewer, and changes nothing', async () => {
    const reply = await expecting('3', 'PUT', '/nodes/compute', { mgt: 'kvm' });
    expect([reply.status, reply.json.errorcode]).toEqual([417, 6]);
    expect(reply.json.error[0]).toContain('2');
    expect((await expecting('1', 'DELETE', '/nodes/compute')).status).toBe(417);
    expect(await server.ok('GET', '/nodes/compute/attrs/mgt')).toEqual({ n1: { mgt: 'ipmi' }, n2: { mgt: 'ipmi' } });
  });

  it('counts existing objects, and lets none be made', async () => {
    expect((await expecting('1', 'PUT', '/nodes/n1,n77', { groups: 'all' })).status).toBe(404);
    expect((await expecting('2', 'PUT', '/nodes/n1,n77', { groups: 'all' })).status).toBe(404);
    expect((await expecting('0', 'POST', '/nodes/n78', { groups: 'all' })).status).toBe(201);
    await server.ok('DELETE', '/nodes/n78');
  });

  it.each(['one', '-1', '1.5', '', ' ', '0x1', '99999999999999999999'])('"%s" is not a number', async (count) => {
    const reply = await expecting(count);
    expect([reply.status, reply.json.errorcode]).toEqual([400, 2]);
  });

  it.each(['/globalconf', '/tables/site/rows', '/templates/node/all', '/tokens'])(
    'holds nowhere on %s, which names no objects',
    async (path) => {
      expect((await expecting('0', 'GET', path)).status).toBe(417);
    },
  );
});

describe('a dry run', () => {
  it('tells the changes by row and does nothing', async () => {
    const before = await server.ok('GET', '/nodes/ALLRESOURCES');
    const reply = await server.call('PUT', '/nodes/n1,n3', {
      query: { dryRun: 1 },
      body: { cons: 'ipmi', arch: 'x86_64' },
    });
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      changes: [
        {
          table: 'nodehm',
          key: { node: 'n1' },
          before: { node: 'n1', mgt: 'ipmi' },
          after: { node: 'n1', mgt: 'ipmi', cons: 'ipmi' },
        },
        {
          table: 'nodehm',
          key: { node: 'n3' },
          before: { node: 'n3', mgt: 'ipmi' },
          after: { node: 'n3', mgt: 'ipmi', cons: 'ipmi' },
        },
        { table: 'nodetype', key: { node: 'n1' }, before: null, after: { node: 'n1', arch: 'x86_64' } },
        { table: 'nodetype', key: { node: 'n3' }, before: null, after: { node: 'n3', arch: 'x86_64' } },
      ],
      nodes: 2,
    });
    expect(await server.ok('GET', '/nodes/ALLRESOURCES')).toEqual(before);
  });

  it.each([
    ['POST', '/nodes/n8-n9', { groups: 'all' }, 2],
    ['DELETE', '/nodes/compute', undefined, 2],
    ['PUT', '/nodes/n1/rename', { newNode: 'n7' }, 1],
    ['PUT', '/nodes', { n1: { mgt: 'kvm' }, n6: { groups: 'all' } }, 2],
    ['PUT', '/globalconf/attrs/domain', { domain: 'cluster.example' }, 0],
    ['PUT', '/tables/routes/rows/routename=r', { net: '10.0.0.0' }, 0],
    ['PUT', '/tables/nodehm/nodes/n1', { nodehm: { cons: 'kvm' } }, 1],
    ['DELETE', '/policy/5', undefined, 1],
  ] as const)('of %s %s is 200, by query or body, and makes no revision', async (method, path, body, nodes) => {
    const { headers } = await server.call('GET', '/nodes');
    for (const options of [
      { query: { dryRun: 1 }, ...(body ? { body } : {}) },
      { body: { ...body, dryRun: '1' } },
      { body: { ...body, dryRun: 1 } },
    ]) {
      const reply = await server.call(method, path, options);
      expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
      expect(reply.json.nodes).toBe(nodes);
      expect(reply.json.changes.length).toBeGreaterThan(0);
      expect(Object.keys(reply.json)).toEqual(['changes', 'nodes']);
      expect(reply.headers['x-muster-revision']).toBe(headers['x-muster-revision']);
    }
  });

  it('hides secrets in what was and in what would be', async () => {
    await server.ok('PUT', '/nodes/n1', { bmc: '10.1.0.1', bmcpassword: 'old-secret' });
    const reply = await server.call('PUT', '/nodes/n1', { query: { dryRun: 1 }, body: { bmcpassword: 'new-secret' } });
    expect(reply.json.changes[0].before.password).toBe('********');
    expect(reply.json.changes[0].after.password).toBe('********');
    expect(reply.text).not.toMatch(/old-secret|new-secret|\{m1\}/);
    const account = await server.call('PUT', '/tables/passwd/rows/key=xcat,username=x', {
      query: { dryRun: 1 },
      body: { password: 'pw' },
    });
    expect(account.json.changes[0].after).toEqual({ key: 'xcat', username: 'x', password: '********' });
    const token = await server.call('POST', '/tokens', { query: { dryRun: 1 }, body: root });
    expect(token.json.changes[0]).toMatchObject({ key: { tokenid: '********' }, after: { tokenid: '********' } });
  });

  it('makes the same checks and asks the same policy', async () => {
    const dry = (method: string, path: string, body: object, token = server.token) =>
      server.call(method, path, { token, query: { dryRun: 1 }, body });
    expect((await dry('PUT', '/nodes/n1', { bogus: 'x' })).status).toBe(403);
    expect((await dry('PUT', '/nodes/nosuch', { mgt: 'x' })).status).toBe(404);
    expect((await dry('POST', '/nodes/n1', { groups: 'all' })).status).toBe(403);
    expect((await dry('DELETE', '/policy/1', {})).status).toBe(403);
    expect((await dry('PUT', '/nodes/n1', { mgt: 'kvm' }, other)).status).toBe(403);
  });

  describe.each(bothRoots)('at %s', (at) => {
    it.each([
      { dryRun: '0' },
      { dryRun: 'true' },
      { dryRun: '' },
      { dryrun: '1' },
      { DryRun: '1' },
      { 'dry-run': '1' },
      { dry_run: '1' },
      { DRYRUN: '1' },
    ] as Record<string, string>[])('is not meant by %j, which does nothing', async (query) => {
      for (const options of [{ query, body: { mgt: 'kvm' } }, { body: { mgt: 'kvm', ...query } }]) {
        const reply = await server.call('PUT', '/nodes/n2', { root: at, ...options });
        expect(reply.status).toBeGreaterThanOrEqual(400);
        expect(Object.keys(reply.json).sort()).toEqual(['error', 'errorcode']);
      }
      expect(await server.ok('GET', '/nodes/n2/attrs/mgt')).toEqual({ n2: { mgt: 'ipmi' } });
    });

    it.each(['/nodes', '/nodes/n1', '/tables/site/rows', '/templates/node/all'])(
      'of GET %s is refused',
      async (path) => {
        expect((await server.call('GET', path, { root: at, query: { dryRun: 1 } })).status).toBe(403);
      },
    );

    it('twice with different values is refused', async () => {
      expect((await server.call('PUT', '/nodes/n2?dryRun=1&dryRun=0', { root: at, body: {} })).status).toBe(403);
    });
  });
});

describe('the log', () => {
  it('holds no password, no token and no secret of a path or body, at any level', async () => {
    const secrets = ['s3cr3t-query', 's3cr3t-body', 's3cr3t-bmc', 's3cr3t-account'];
    await server.call('GET', '/nodes', { token: null, query: { userName: 'root', userPW: secrets[0]! } });
    await server.call('GET', '/nodes', { token: null, query: { userName: 'root', userPW: secrets[0]!, bogus: 1 } });
    await server.call('POST', '/tokens', { token: null, body: { userName: 'x', userPW: secrets[1] } });
    await server.call('PUT', '/nodes/n1', { body: { bmcpassword: secrets[2], bogus: 1 } });
    await server.call('PUT', '/nodes/n1', { body: { bmcpassword: secrets[2] } });
    await server.call('PUT', '/tables/passwd/rows/key=xcat,username=y', { body: { password: secrets[3] } });
    await server.call('GET', `/tables/passwd/rows/password=${secrets[3]}`);
    await server.call('GET', '/nothing', { query: { userName: 'root', userPW: secrets[0]! } });
    const log = await written(server);
    for (const secret of [...secrets, server.token, rootPassword]) expect(log).not.toContain(secret);
  });
});

describe('a member named __proto__', () => {
  it.each([
    ['PUT', '/nodes/n1', '{"__proto__":"x"}'],
    ['PUT', '/nodes/n1', '{"\\u005f_proto__":{"mgt":"kvm"}}'],
    ['POST', '/nodes/__proto__', '{"groups":"all"}'],
    ['PUT', '/nodes', '{"__proto__":{"groups":"all"}}'],
    ['PUT', '/globalconf/attrs/x', '{"x":"1","__proto__":"x"}'],
    ['PUT', '/tables/nodetype,__proto__/nodes/n1', '{"__proto__":{"os":"x"}}'],
    ['PUT', '/tables/routes/rows/routename=r', '{"__proto__":"x"}'],
  ])('is refused and changes nothing: %s %s %s', async (method, path, body) => {
    const before = (await server.call('GET', '/nodes')).headers['x-muster-revision'];
    const reply = await server.call(method, path, { body, headers: { 'Content-Type': 'application/json' } });
    expect([400, 403, 404]).toContain(reply.status);
    expect((await server.call('GET', '/nodes')).headers['x-muster-revision']).toBe(before);
  });
});
