import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queryOutside } from '../harness/raw-sqlite.ts';
import { rootPassword, startServer, type TestServer } from '../harness/server.ts';
import { addUser, logIn, passwordOf } from '../harness/users.ts';

let server: TestServer;
let anna: string;

const rule = (priority: number, row: object) => server.ok('POST', `/policy/${priority}`, { rule: 'allow', ...row });
const statusOf = async (token: string, path: string, method = 'GET', body?: unknown) =>
  (await server.call(method, path, { token, body })).status;
const ask = (limits: object, token: string | null = server.token) =>
  server.call('POST', '/tokens', { token, body: limits });
async function limited(limits: object, token?: string): Promise<string> {
  const { status, json, text } = await ask(limits, token);
  expect([status, text]).toEqual([201, expect.any(String)]);
  return json.token.id as string;
}

beforeAll(async () => {
  server = await startServer();
  await server.ok('POST', '/nodes/a[1-3]', { groups: 'all,red', rack: 'r1' });
  await server.ok('POST', '/nodes/b[1-3]', { groups: 'all,blue', rack: 'r2' });
  anna = await addUser(server, 'anna');
  await rule(20, { name: 'anna', commands: 'lsdef,nodels,chdef,makehosts,events,lschanges,revert', noderange: 'red' });
  await rule(21, { name: 'anna', commands: 'lsdef', noderange: 'b1' });
});
afterAll(() => server.stop());

describe('a token with limits', () => {
  it('does what is within them, and nothing else that its account may', async () => {
    const token = await limited({ commands: 'lsdef,nodels', noderange: 'red' });
    expect(await statusOf(token, '/nodes/a1')).toBe(200);
    expect(Object.keys((await server.call('GET', '/nodes/%2F.*', { token })).json)).toEqual(['a1', 'a2', 'a3']);
    for (const [path, method, body] of [
      ['/nodes', 'GET'],
      ['/nodes/all', 'GET'],
      ['/nodes/b1', 'GET'],
      ['/nodes/a1,b1', 'GET'],
      ['/nodes/a1', 'PUT', { rack: 'r9' }],
      ['/nodes/a1/power', 'GET'],
      ['/nodes/a1/nodeshell', 'POST', { command: ['true'] }],
      ['/policy', 'GET'],
      ['/globalconf', 'GET'],
      ['/tables/nodelist/rows', 'GET'],
      ['/tables/passwd/rows/key=xcat,username=root', 'PUT', { password: 'mine' }],
      ['/changes', 'GET'],
      ['/events?seconds=0', 'GET'],
      ['/services/host', 'POST', {}],
    ] as const)
      expect([method, path, await statusOf(token, path, method, body)]).toEqual([method, path, 403]);
    const { text } = await server.call('GET', '/nodes/a1/power', { token });
    expect(text).toMatch(/the token [0-9a-f]{16} is limited to the commands lsdef,nodels and the nodes red/);
  });

  it('never does more than its account', async () => {
    const token = await limited({ commands: 'lsdef,rpower,chdef', noderange: 'a1,b1' }, anna);
    expect(await statusOf(token, '/nodes/a1')).toBe(200);
    expect(await statusOf(token, '/nodes/a2')).toBe(403);
    expect(await statusOf(token, '/nodes/a1', 'PUT', { usercomment: 'x' })).toBe(200);
    expect(await statusOf(token, '/nodes/b1', 'PUT', { usercomment: 'x' })).toBe(403);
    expect(await statusOf(token, '/nodes/a1/power')).toBe(403);
    await server.ok('PUT', '/policy/20', { commands: 'lsdef' });
    expect(await statusOf(token, '/nodes/a1', 'PUT', { usercomment: 'y' })).toBe(403);
    await server.ok('PUT', '/policy/20', { commands: 'lsdef,nodels,chdef,makehosts,events,lschanges,revert' });
  });

  it('means the nodes that its range has at each use, and none if that cannot be read', async () => {
    const token = await limited({ noderange: 'nodepos.rack==r1' });
    expect(await statusOf(token, '/nodes/b2')).toBe(403);
    await server.ok('PUT', '/nodes/b2', { rack: 'r1' });
    expect(await statusOf(token, '/nodes/b2')).toBe(200);
    await server.ok('PUT', '/nodes/b2', { rack: 'r2' });
    await server.ok('POST', '/groups/dyn', { grouptype: 'dynamic', wherevals: 'rack==r1' });
    const ofGroup = await limited({ noderange: 'dyn' });
    expect(await statusOf(ofGroup, '/nodes/a1')).toBe(200);
    await server.ok('DELETE', '/groups/dyn');
    expect(await statusOf(ofGroup, '/nodes/a1')).toBe(403);
  });

  it('does not make others its nodes, or nodes what decides trust', async () => {
    const token = await limited({ noderange: 'red' });
    for (const body of [{ bmc: '10.9.9.9' }, { groups: 'all' }, { ip: '10.9.9.9' }])
      expect([body, await statusOf(token, '/nodes/a1', 'PUT', body)]).toEqual([body, 403]);
    expect(await statusOf(token, '/groups/red', 'PUT', { members: 'a1,a2,a3,b1' })).toBe(403);
    expect(await statusOf(token, '/nodes/a1', 'PUT', { rack: 'r5' })).toBe(200);
    expect(
      await statusOf(token, '/definitions', 'PUT', {
        definitions: [{ type: 'node', name: 'b3', attributes: { rack: 'r5' } }],
      }),
    ).not.toBe(200);
    await server.ok('PUT', '/nodes/a1', { rack: 'r1' });
  });

  it('sees, hears and cancels no runs but its own, and takes back no change of others', async () => {
    const mine = await server.call('PUT', '/nodes/b1', { body: { usercomment: 'root was here' } });
    const [run, revision] = [String(mine.headers['x-muster-run']), Number(mine.headers['x-muster-revision'])];
    const token = await limited({ commands: 'lsdef,chdef,lschanges,revert,events', noderange: 'red' });
    expect(await statusOf(token, `/runs/${run}`)).toBe(404);
    expect(await statusOf(token, `/runs/${run}`, 'DELETE')).toBe(404);
    const own = await server.call('PUT', '/nodes/a1', { token, body: { usercomment: 'by token' } });
    expect(own.status).toBe(200);
    const { runs } = (await server.call('GET', '/runs', { token })).json as { runs: { id: string }[] };
    expect(runs.map(({ id }) => id)).toEqual([own.headers['x-muster-run']]);
    expect(await statusOf(token, `/runs/${String(own.headers['x-muster-run'])}`)).toBe(200);
    expect(await statusOf(token, `/changes/${revision}/revert`, 'POST')).not.toBe(200);
    // With its quotes: ids of runs are hexadecimal and may have the same letters.
    expect((await server.call('GET', '/changes', { token })).text).not.toContain('"b1"');
    const { text } = await server.call('GET', '/events?seconds=0&after=0', { token });
    expect(text).not.toContain('"b1"');
    expect((await server.call('GET', '/runs')).text).toContain(own.headers['x-muster-run']);
  });

  it('is what its audit records name', async () => {
    const token = await limited({ noderange: 'red', name: 'for the audit log' });
    await server.call('GET', '/nodes/a1', { token });
    const id = (await server.call('GET', '/tokens', { token })).json.tokens[0].id as string;
    await server.call('PUT', '/nodes/b1', { token, body: { rack: 'r9' } });
    const { text } = await server.call('GET', '/tables/auditlog/rows');
    expect(text).toContain(`Denied (token ${id})`);
    expect(text).not.toContain(token);
  });
});

describe('making a token with limits', () => {
  it('needs names of commands and nodes that there are, to whoever asks', async () => {
    for (const [body, said] of [
      [{ commands: 'lsdeff' }, 'lsdeff'],
      [{ commands: '' }, 'no command'],
      [{ noderange: 'nosuch1' }, 'nosuch1'],
      [{ noderange: ' ' }, 'noderange'],
      [{ noderange: '*' }, 'noderange'],
      [{ commands: 'lsdef', days: 0 }, 'days'],
      [{ commands: 'lsdef', days: 367 }, 'days'],
      [{ commands: 'lsdef', name: '' }, 'name'],
      [{ commands: 'lsdef', scope: 'x' }, 'scope'],
    ] as const) {
      const { status, text } = await ask({ userName: 'root', userPW: rootPassword, ...body }, null);
      expect([body, status >= 400 && status < 500, text]).toEqual([body, true, expect.stringContaining(said)]);
    }
    const [hidden, absent] = await Promise.all(['b2', 'b9'].map((noderange) => ask({ noderange }, anna)));
    expect(hidden!.status).toBe(absent!.status);
    expect(hidden!.text.replaceAll('b2', 'b9')).toBe(absent!.text);
  });

  it('is for accounts, and for tokens without limits that end no earlier', async () => {
    const narrow = await limited({ commands: 'lsdef', noderange: 'red' });
    for (const body of [
      { commands: 'lsdef' },
      { noderange: 'a1' },
      { commands: 'lsdef', noderange: 'red', days: 0.001 },
      {},
    ])
      expect([201, (await ask(body, narrow)).status]).not.toEqual([201, 201]);
    expect((await ask({}, server.token)).status).toBe(401);
    const longer = await ask({ commands: 'lsdef', days: 30 });
    expect([longer.status, longer.text]).toEqual([403, expect.stringContaining('userName and userPW')]);
    const { status, json } = await ask({ userName: 'root', userPW: rootPassword, commands: 'lsdef', days: 30 }, null);
    expect(status).toBe(201);
    expect(json.token.id).toMatch(/^limited-[0-9a-f-]{36}$/);
    expect((await ask({ userName: 'root', userPW: rootPassword, days: 30 }, null)).status).toBe(403);
    const own = (await ask({ commands: 'lsdef', days: 0.5 })).json.token;
    expect(own.publicId).toMatch(/^[0-9a-f]{16}$/);
  });

  it('is refused at the other root, where it would have none', async () => {
    const body = { userName: 'root', userPW: rootPassword };
    const call = (more: object) =>
      server.call('POST', '/tokens', { root: '/xcatws', token: null, body: { ...body, ...more } });
    expect((await call({ commands: 'lsdef' })).text).toContain('POST /muster/tokens');
    expect(Object.keys((await call({})).json.token)).toEqual(['id', 'expire']);
    const { status } = await server.call('POST', '/tokens', { root: '/xcatws', body: {} });
    expect(status).toBe(401);
  });

  it('shows only what cannot be used', async () => {
    const { json } = await ask({ commands: 'lsdef', noderange: 'red', name: 'nightly report' });
    const { tokens } = await server.ok('GET', '/tokens');
    const listed = tokens.find(({ id }: { id: string }) => id === json.token.publicId);
    expect(listed).toMatchObject({
      name: 'nightly report',
      commands: 'lsdef',
      noderange: 'red',
      access: '',
      current: false,
    });
    expect(JSON.stringify(tokens)).not.toContain(json.token.id);
    expect((await server.call('GET', '/nodes', { token: listed.id })).status).toBe(401);
    const dumped = await server.call('GET', '/tables/token/rows');
    expect(dumped.text).not.toContain(json.token.id);
    const stored = queryOutside(join(server.data, 'muster.sqlite'), 'select tokenid from token').map(
      (row) => row['tokenid'],
    );
    expect(stored).not.toContain(json.token.id);
  });
});

describe('tokens are revoked by an id that is no secret', () => {
  it('one by one, each account its own', async () => {
    const { json } = await ask({ commands: 'lsdef' });
    const { id, publicId } = json.token as { id: string; publicId: string };
    expect(await statusOf(anna, `/tokens/${publicId}`, 'DELETE')).toBe(404);
    expect(await statusOf(id, '/nodes')).toBe(200);
    expect(await statusOf(server.token, `/tokens/${publicId}`, 'DELETE')).toBe(200);
    expect(await statusOf(id, '/nodes')).toBe(401);
    expect(await statusOf(server.token, `/tokens/${publicId}`, 'DELETE')).toBe(404);
  });

  it('but a token with limits ends nothing but itself', async () => {
    const [narrow, other] = [await limited({ commands: 'lsdef' }, anna), await logIn(server, 'anna')];
    const { tokens } = await server.ok('GET', '/tokens', undefined, { token: other });
    const { id } = tokens.find(({ current }: { current: boolean }) => current);
    expect(await statusOf(narrow, `/tokens/${id}`, 'DELETE')).toBe(404);
    expect((await server.call('GET', '/tokens', { token: narrow })).json.tokens).toHaveLength(1);
    expect(await statusOf(narrow, '/tokens/all', 'DELETE')).toBe(200);
    expect([await statusOf(narrow, '/tokens'), await statusOf(other, '/tokens')]).toEqual([401, 200]);
  });

  it('and end with their account, and without their limits', async () => {
    const token = await addUser(server, 'berta');
    const narrow = await limited({ commands: 'lsdef' }, token);
    const kept = await ask({ userName: 'root', userPW: rootPassword, commands: 'lsdef' }, null);
    await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=berta', { password: `${passwordOf('berta')}2` });
    expect(await statusOf(narrow, '/tokens')).toBe(401);
    expect(await statusOf(kept.json.token.id, '/tokens')).toBe(200);
  });
});
