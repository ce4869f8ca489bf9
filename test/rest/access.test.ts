import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Client, type Reply } from '../harness/client.ts';
import { rootPassword, startServer, type TestServer } from '../harness/server.ts';
import { addUser, logIn } from '../harness/users.ts';

let server: TestServer;
let user: string;
beforeAll(async () => {
  server = await startServer();
  user = await addUser(server, 'user');
  await server.ok('POST', '/nodes/n1-n4', { groups: 'all,compute', mgt: 'ipmi' });
  await server.ok('POST', '/nodes/x1-x2', { groups: 'all,extra', mgt: 'ipmi' });
});
afterAll(() => server.stop());

const login = { userName: 'root', userPW: rootPassword };

describe('a token', () => {
  const take = async (root = '/muster') => (await server.ok('POST', '/tokens', login, { token: null, root })).token;
  const works = async (token: string) => (await server.call('GET', '/nodes', { token })).status === 200;
  const expiry = (text: string): number => {
    const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = text.split(/[- :]/).map(Number);
    return new Date(year, month - 1, day, hour, minute, second).getTime();
  };
  const lifetime = (days: string) => server.ok('PUT', '/globalconf/attrs/tokenexpiredays', { tokenexpiredays: days });
  const day = 86_400_000;
  /** Whether a new token ends so many milliseconds after it was taken, in whole seconds. */
  const lives = async (milliseconds: number): Promise<boolean> => {
    const before = Date.now();
    const end = expiry((await take()).expire) - milliseconds;
    return before - 2_000 < end && end < Date.now() + 2_000;
  };

  it.each(['/muster', '/xcatws'])('has an id like a UUID and a day to live, at %s', async (root) => {
    const { id, expire, ...more } = await take(root);
    expect(more).toEqual({});
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
    expect(expire).toMatch(/^\d{4}-[1-9]\d?-[1-9]\d? (0|[1-9]\d?):(0|[1-9]\d?):(0|[1-9]\d?)$/);
    expect(Math.abs(expiry(expire) - Date.now() - day)).toBeLessThan(10_000);
    expect(await works(id)).toBe(true);
  });

  it.each([
    ['3', 3],
    ['0.5', 0.5],
    ['0', 1],
  ])('lives as long as tokenexpiredays says: %s', async (days, expected) => {
    await lifetime(days);
    expect(await lives(expected * day)).toBe(true);
  });

  it('lives for a day if tokenexpiredays means nothing, and who writes that is told so', async () => {
    const body = { tokenexpiredays: 'soon' };
    const { json } = await server.call('PUT', '/globalconf/attrs/tokenexpiredays', { body, query: { debug: '1' } });
    expect(json.debug).toContain(
      'Site attribute tokenexpiredays: "soon" is neither a number of days nor never; tokens live for one day.',
    );
    expect(await lives(day)).toBe(true);
  });

  it('may live for ever', async () => {
    await lifetime('never');
    const { id, expire } = await take();
    expect(expire).toBe('never');
    expect(await works(id)).toBe(true);
  });

  it('ends with its time', async () => {
    await lifetime('0.00003');
    let id = '';
    // On a busy machine one may have ended before it is used.
    await expect.poll(async () => works((id = (await take()).id))).toBe(true);
    await expect.poll(() => works(id)).toBe(false);
    const reply = await server.call('GET', '/nodes', { token: id });
    const error = ['Authentication failure', 'The token is not known or has expired; POST /tokens gives a new one.'];
    expect([reply.status, reply.json]).toEqual([401, { error, errorcode: 2 }]);
    await server.ok('DELETE', '/globalconf/attrs/tokenexpiredays');
    expect(await works(id)).toBe(false);
  });

  it('is given for account and password alone: another token neither gets one nor stands in the way', async () => {
    const byToken = await server.call('POST', '/tokens', { body: {} });
    expect([byToken.status, byToken.json.error[0]]).toEqual([401, 'Authentication failure']);
    const stale = await server.call('POST', '/tokens', { body: login, token: '00000000-0000-0000-0000-000000000000' });
    expect(stale.status).toBe(201);
    expect(await works(stale.json.token.id)).toBe(true);
  });

  it('is revoked by DELETE with its header, and no other is', async () => {
    const [one, two] = [await take(), await take()];
    await server.ok('DELETE', '/tokens', undefined, { token: one.id });
    expect([await works(one.id), await works(two.id), await works(server.token)]).toEqual([false, true, true]);
    const withPassword = await server.call('DELETE', '/tokens', { token: null, query: login });
    expect([withPassword.status, withPassword.json.errorcode]).toEqual([405, 2]);
    const elsewhere = await server.call('DELETE', '/tokens', { root: '/xcatws', token: two.id });
    expect([elsewhere.status, await works(two.id)]).toEqual([405, true]);
  });

  it('is listed without its id', async () => {
    const mine = await logIn(server, 'user');
    const { tokens } = await server.ok('GET', '/tokens', undefined, { token: mine });
    expect(tokens.length).toBe(2);
    for (const token of tokens) expect(Object.keys(token)).toEqual(['id', 'created', 'expire', 'access', 'current']);
    expect(tokens.filter((token: { current: boolean }) => token.current).length).toBe(1);
    expect((await server.call('GET', '/tokens', { root: '/xcatws' })).status).toBe(405);
  });

  it('goes with all others of its user, and with no one else’s', async () => {
    const mine = await logIn(server, 'user');
    await server.ok('DELETE', '/tokens/all', undefined, { token: mine });
    expect((await server.call('GET', '/tokens', { token: mine })).status).toBe(401);
    expect((await server.call('GET', '/tokens', { token: user })).status).toBe(401);
    expect(await works(server.token)).toBe(true);
    user = await logIn(server, 'user');
  });

  it('is stored hashed, and its row says when it was used', async () => {
    const { id } = await take();
    await works(id);
    const database = new Sqlite(join(server.data, 'muster.sqlite'), { readonly: true });
    const rows = database.prepare('select * from token').all() as Record<string, string>[];
    database.close();
    expect(JSON.stringify(rows)).not.toContain(id);
    for (const { tokenid } of rows) expect(tokenid).toMatch(/^[0-9a-f]{64}$/);
    const { token } = await server.ok('GET', '/tables/token/rows');
    for (const { tokenid } of token) expect(tokenid).toBe('********');
  });
});

describe('the policy', () => {
  /** The rules below root's own, all for `user`. */
  const rules = async (...given: Record<string, string>[]) => {
    for (const priority of await server.ok('GET', '/policy'))
      if (priority !== '1') await server.ok('DELETE', `/policy/${priority}`);
    for (const [i, rule] of given.entries()) await server.ok('POST', `/policy/${i + 2}`, { name: 'user', ...rule });
  };
  const status = async (method: string, path: string, body?: object) =>
    (await server.call(method, path, { token: user, ...(body ? { body } : {}) })).status;

  it('refuses without a rule', async () => {
    await rules();
    for (const path of ['/nodes', '/nodes/n1', '/osimages', '/globalconf', '/tables/site/rows', '/templates/node/all'])
      expect([path, await status('GET', path)]).toEqual([path, 403]);
    expect(await status('GET', '/tokens')).toBe(200);
  });

  it.each(['allow', 'accept', 'trusted', 'Allow', 'ALLOW'])('permits by "%s"', async (rule) => {
    await rules({ rule });
    expect(await status('PUT', '/nodes/n1', { mgt: 'ipmi' })).toBe(200);
  });

  it.each(['deny', 'disallow', 'allowed', 'anything'])('refuses by "%s"', async (rule) => {
    await rules({ rule }, { rule: 'allow' });
    expect(await status('GET', '/nodes')).toBe(403);
  });

  it('counts per command', async () => {
    await rules({ commands: 'lsdef,nodels', rule: 'allow' });
    expect(await status('GET', '/nodes')).toBe(200);
    expect(await status('GET', '/nodes/n1')).toBe(200);
    expect(await status('GET', '/nodes/n1/nodels')).toBe(200);
    expect(await status('GET', '/globalconf')).toBe(200);
    expect(await status('PUT', '/nodes/n1', { mgt: 'ipmi' })).toBe(403);
    expect(await status('POST', '/nodes/n9', { groups: 'all' })).toBe(403);
    expect(await status('DELETE', '/nodes/n1')).toBe(403);
    expect(await status('GET', '/tables/site/rows')).toBe(403);
  });

  it.each([
    ['getTablesNodesAttribs', 'GET', '/tables/nodehm/nodes/n1', undefined],
    ['getTablesAllNodeAttribs', 'GET', '/tables/nodehm/nodes/ALLNODES', undefined],
    ['getTablesAllRowAttribs', 'GET', '/tables/site/rows', undefined],
    ['getAttribs', 'GET', '/tables/policy/rows/priority=1', undefined],
    ['setNodesAttribs', 'PUT', '/tables/nodehm/nodes/n1', { nodehm: { mgt: 'ipmi' } }],
    ['setAttribs', 'PUT', '/tables/routes/rows/routename=r', { net: '10.0.0.0' }],
    ['delEntries', 'DELETE', '/tables/routes/rows/routename=r', undefined],
  ] as const)('knows %s by its own name and by that of the command line', async (command, method, path, body) => {
    const alias = method === 'GET' ? 'tabdump' : 'tabch';
    await rules({ commands: command, rule: 'allow' });
    expect(await status(method, path, body)).toBe(200);
    await rules({ commands: alias, rule: 'allow' });
    expect(await status(method, path, body)).toBe(200);
    await rules({ commands: alias === 'tabch' ? 'tabdump' : 'tabch', rule: 'allow' });
    expect(await status(method, path, body)).toBe(403);
  });

  it('counts per node, and names the first that is refused', async () => {
    await rules({ noderange: 'compute', rule: 'allow' });
    expect(await status('GET', '/nodes/n1,n2')).toBe(200);
    expect(await status('GET', '/tables/nodehm/nodes/compute')).toBe(200);
    expect(await status('PUT', '/nodes/compute', { mgt: 'ipmi' })).toBe(200);
    const reply = await server.call('PUT', '/nodes/n1,x2,x1', { token: user, body: { mgt: 'kvm' } });
    expect([reply.status, reply.json.errorcode]).toEqual([403, 2]);
    expect(reply.json.error).toEqual(['User "user" may not run chdef on x1: no policy rule allows it.']);
    expect(await server.ok('GET', '/nodes/n1/attrs/mgt')).toEqual({ n1: { mgt: 'ipmi' } });
    for (const path of ['/nodes/ALLRESOURCES', '/nodes', '/nodes/all', '/tables/nodehm/nodes/ALLNODES'])
      expect([path, await status('GET', path)]).toEqual([path, 403]);
  });

  it('is asked about every node whose membership or inherited value changes', async () => {
    await rules({ noderange: 'compute', rule: 'allow' });
    expect(await status('PUT', '/groups/compute', { arch: 'x86_64' })).toBe(200);
    expect(await status('PUT', '/groups/extra', { arch: 'x86_64' })).toBe(403);
    expect(await status('PUT', '/groups/compute', { members: 'n1,n2,n3,n4,x1' })).toBe(403);
    expect(await status('PUT', '/groups/all', { usercomment: 'x' })).toBe(403);
    expect(await status('PUT', '/tables/nodetype/rows/node=extra', { arch: 'ppc64' })).toBe(403);
    expect(await status('POST', '/nodes/new1', { groups: 'compute' })).toBe(403);
    expect(await status('PUT', '/nodes/n1/rename', { newNode: 'new1' })).toBe(403);
    expect(await status('PUT', '/nodes', { n1: { arch: 'ppc64' }, x1: { arch: 'ppc64' } })).toBe(403);
    expect(await server.ok('GET', '/nodes/extra/attrs/arch')).toEqual({ x1: { arch: '' }, x2: { arch: '' } });
    await server.ok('PUT', '/groups/compute', { arch: '' });
  });

  it('takes the rule with the smallest number', async () => {
    await rules({ noderange: 'n3', rule: 'deny' }, { rule: 'allow' });
    expect(await status('GET', '/nodes/n1,n2')).toBe(200);
    expect(await status('GET', '/nodes/n1-n4')).toBe(403);
    await rules({ rule: 'allow' }, { noderange: 'n3', rule: 'deny' });
    expect(await status('GET', '/nodes/n1-n4')).toBe(200);
  });

  it('compares addresses, and reads parameters as the reference system writes them', async () => {
    await rules({ host: '127.0.0.1', rule: 'allow' });
    expect(await status('GET', '/nodes')).toBe(200);
    await rules({ host: '127.0.0.2', rule: 'allow' });
    expect(await status('GET', '/nodes')).toBe(403);
    await rules({ parameters: '-t node -o n1 mgt=.*', rule: 'allow' });
    expect(await status('PUT', '/nodes/n1', { mgt: 'ipmi' })).toBe(200);
    expect(await status('PUT', '/nodes/n2', { mgt: 'ipmi' })).toBe(403);
  });

  it('never admits the anonymous', async () => {
    await rules();
    await server.ok('POST', '/policy/2', { rule: 'allow' });
    await server.ok('POST', '/policy/3', { name: '*', rule: 'allow' });
    expect(await status('GET', '/nodes')).toBe(200);
    expect((await server.call('GET', '/nodes', { token: null })).status).toBe(401);
    await rules();
  });

  it.each([
    ['its rule goes', 'DELETE', '/policy/1', undefined],
    ['its rule refuses', 'PUT', '/policy/1', { rule: 'deny' }],
    ['its rule names another', 'PUT', '/policy/1', { name: 'somebody' }],
    ['its rule counts for some commands', 'PUT', '/policy/1', { commands: 'lsdef' }],
    ['its rule counts for some nodes', 'PUT', '/policy/1', { noderange: 'n1' }],
    ['its rule counts at times', 'PUT', '/policy/1', { time: '00:00-00:01' }],
    ['its rule counts for one host', 'PUT', '/policy/1', { host: 'elsewhere' }],
    ['its rule is disabled', 'PUT', '/tables/policy/rows/priority=1', { disable: '1' }],
    ['a rule before refuses', 'POST', '/policy/0.5', { rule: 'deny' }],
    ['its rule goes from the table', 'DELETE', '/tables/policy/rows/priority=1', undefined],
    ['its account goes', 'DELETE', '/tables/passwd/rows/key=xcat,username=root', undefined],
    ['its account is disabled', 'PUT', '/tables/passwd/rows/key=xcat,username=root', { disable: 'yes' }],
    ['its account gets another name', 'PUT', '/tables/passwd/rows/key=xcat,username=root', { username: 'r' }],
    ['its account loses its password', 'PUT', '/tables/passwd/rows/key=xcat,username=root', { password: '' }],
    ['all rules go at once', 'PUT', '/policy', { 1: { rule: 'deny' } }],
  ] as const)('keeps the last administrator when %s', async (_what, method, path, body) => {
    const reply = await server.call(method, path, body ? { body } : {});
    expect([reply.status, reply.json?.errorcode]).toEqual([403, 1]);
    expect(await server.ok('GET', '/policy/ALLRESOURCES')).toEqual({ 1: { name: 'root', rule: 'allow' } });
    expect((await server.call('POST', '/tokens', { token: null, body: login })).status).toBe(201);
  });

  it('lets the last but one go', async () => {
    await rules({ rule: 'allow' });
    await server.ok('DELETE', '/policy/1', undefined);
    expect((await server.call('GET', '/nodes')).status).toBe(403);
    expect(await status('POST', '/policy/1', { name: 'root', rule: 'allow' })).toBe(201);
    await rules();
  });
});

describe('the audit log', () => {
  let before: number;
  beforeEach(async () => {
    before = (await server.ok('GET', '/tables/auditlog/rows')).auditlog.length;
  });

  const recordOf = async ({ headers }: Reply, client = '127.0.0.1') => {
    const { auditlog } = await server.ok('GET', `/tables/auditlog/rows/comments=${String(headers['x-request-id'])}`);
    expect(auditlog.length).toBe(1);
    const { userid, clientname, clienttype, command, noderange, args, status, audittime } = auditlog[0];
    expect([clientname, clienttype]).toEqual([client, 'ws']);
    expect(Math.abs(Date.parse(audittime) - Date.now())).toBeLessThan(60_000);
    return [userid, command, noderange ?? '', args ?? '', status];
  };
  const call = (method: string, path: string, body?: object, token = server.token) =>
    server.call(method, path, { token, ...(body ? { body } : {}) });

  it.each([
    ['GET', '/nodes', undefined, ['lsdef', '', '-t node -s', 'Allowed']],
    ['GET', '/nodes/n1,n2', undefined, ['lsdef', 'n1,n2', '-t node -o n1,n2', 'Allowed']],
    ['GET', '/nodes/ALLRESOURCES', undefined, ['lsdef', 'ALLRESOURCES', '-t node -l', 'Allowed']],
    ['GET', '/nodes/n1/attrs/mgt', undefined, ['lsdef', 'n1', '-t node -o n1 -i mgt', 'Allowed']],
    ['GET', '/nodes/n1/nodels', undefined, ['nodels', 'n1', '', 'Allowed']],
    [
      'PUT',
      '/nodes/n1',
      { mgt: 'ipmi', bmcpassword: 'pw' },
      ['chdef', 'n1', '-t node -o n1 mgt=ipmi bmcpassword=xxxxxxxx', 'Allowed'],
    ],
    ['POST', '/nodes/a1', { groups: 'all' }, ['mkdef', 'a1', '-t node -o a1 groups=all', 'Allowed']],
    ['DELETE', '/nodes/a1', undefined, ['rmdef', 'a1', '-t node -o a1', 'Allowed']],
    ['PUT', '/nodes/n1', { bogus: 'x' }, ['chdef', 'n1', '-t node -o n1 bogus=xxxxxxxx', 'Failed']],
    ['PUT', '/nodes/nosuch', { mgt: 'x' }, ['chdef', 'nosuch', '-t node -o nosuch mgt=x', 'Failed']],
    ['GET', '/nodes/nosuch', undefined, ['lsdef', 'nosuch', '-t node -o nosuch', 'Failed']],
    ['PUT', '/nodes/n1/rename', {}, ['chdef', 'n1', '', 'Failed']],
    ['PUT', '/nodes/n1/rename', { newNode: 5 }, ['chdef', 'n1', '', 'Failed']],
    ['PUT', '/globalconf/attrs/domain', { domain: 'x' }, ['chdef', '', '-t site domain=x', 'Allowed']],
    ['GET', '/tables/site,policy/rows', undefined, ['getTablesAllRowAttribs', '', 'site,policy', 'Allowed']],
    [
      'PUT',
      '/tables/passwd/rows/key=ipmi,username=a',
      { password: 'pw' },
      ['setAttribs', '', 'passwd key=ipmi,username=a passwd.password=xxxxxxxx', 'Allowed'],
    ],
    ['DELETE', '/tables/passwd/rows/key=ipmi', undefined, ['delEntries', '', 'passwd key=ipmi', 'Allowed']],
  ] as const)('records %s %s %j', async (method, path, body, expected) => {
    expect(await recordOf(await call(method, path, body))).toEqual(['root', ...expected]);
  });

  it('records what the policy refused', async () => {
    expect(await recordOf(await call('GET', '/nodes/n1', undefined, user))).toEqual([
      'user',
      'lsdef',
      'n1',
      '-t node -o n1',
      'Denied',
    ]);
    expect(await recordOf(await call('DELETE', '/nodes/n1', undefined, user))).toEqual([
      'user',
      'rmdef',
      'n1',
      '-t node -o n1',
      'Denied',
    ]);
  });

  it.each([
    ['mallory', { query: { userName: 'mallory', userPW: 'guess-1' } }],
    ['', { token: 'no-such-token' }],
  ])(
    'records a failed login under the name that was given ("%s"), without password and token',
    async (name, options) => {
      const address = `127.0.0.${name.length + 20}`;
      const client = new Client(server.port, server.client.ca, address);
      const refused = await client.call('GET', '/nodes', options);
      client.close();
      expect(await recordOf(refused, address)).toEqual([name, 'lsdef', '', '', 'Denied (authentication)']);
      expect(JSON.stringify(await server.ok('GET', '/tables/auditlog/rows'))).not.toMatch(/guess-1|no-such-token/);
    },
  );

  it('records dry runs as such', async () => {
    const reply = await server.call('DELETE', '/nodes/n1', { query: { dryRun: 1 } });
    expect(await recordOf(reply)).toEqual(['root', 'rmdef', 'n1', '-t node -o n1', 'Allowed (dry run)']);
  });

  it('grows by one record a request', async () => {
    for (let i = 0; i < 20; i++) await call('GET', '/nodes/n1');
    expect((await server.ok('GET', '/tables/auditlog/rows')).auditlog.length).toBe(before + 21);
  });

  it('has reads on disk soon, and writes and refusals before the reply', async () => {
    const database = new Sqlite(join(server.data, 'muster.sqlite'), { readonly: true });
    const count = ({ headers }: Reply) =>
      database.prepare('select count(*) from auditlog where comments = ?').pluck().get(headers['x-request-id']);
    expect(count(await call('PUT', '/nodes/n1', { usercomment: 'audited' }))).toBe(1);
    expect(count(await call('GET', '/nodes/n1', undefined, user))).toBe(1);
    expect(count(await call('PUT', '/nodes/nosuch', { mgt: 'x' }))).toBe(1);
    const read = await call('GET', '/nodes/n1');
    await expect.poll(() => count(read)).toBe(1);
    database.close();
  });

  it('is read by its columns', async () => {
    const { auditlog } = await server.ok('GET', '/tables/auditlog/rows/userid=mallory/command,status');
    expect(auditlog).toEqual([{ command: 'lsdef', status: 'Denied (authentication)' }]);
  });
});
