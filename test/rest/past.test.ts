import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
let start: number;
beforeAll(async () => {
  server = await startServer();
  await server.ok('POST', '/nodes/n1-n4', { groups: 'all,rack1', arch: 'x86_64', mgt: 'ipmi' });
  await server.ok('PUT', '/nodes/n1-n4', { bmcpassword: 'first-secret' });
  await server.ok('PUT', '/groups/rack1', { rack: 'r1' });
  await server.ok('PUT', '/networks/lab', { net: '10.9.0.0', mask: '255.255.0.0' });
  await server.ok('PUT', '/osimages/img1', { provmethod: 'netboot', osvers: 'debian12' });
  await server.ok('PUT', '/policy/50', { name: 'nobody', commands: 'lsdef', rule: 'allow' });
  await server.ok('PUT', '/globalconf/attrs/domain', { domain: 'one.example' });
  start = await revision();
});
afterAll(() => server.stop());

const revision = async (): Promise<number> => Number((await server.call('GET', '/nodes')).headers['x-muster-revision']);
const refusal = async (path: string, options = {}) => {
  const { status, json } = await server.call('GET', path, options);
  return [status, json.error] as const;
};

/** Everything that can tell how it was. */
const readings = [
  '/nodes',
  '/nodes/ALLRESOURCES',
  '/nodes/rack1',
  '/nodes/n1/attrs/arch,rack',
  '/nodes/rack1/nodels',
  '/nodes/n1/explain/rack',
  '/groups',
  '/groups/rack1',
  '/networks',
  '/networks/lab',
  '/osimages/img1',
  '/policy/50',
  '/globalconf',
  '/globalconf/attrs/domain',
  '/tables/nodetype,ipmi/rows',
  '/tables/nodetype/rows/node=n1',
  '/tables/nodetype/nodes/n1-n4',
  '/tables/nodetype/nodes/ALLNODES',
] as const;

describe('how it was', () => {
  it('is what every reading told then, after everything has changed', async () => {
    const then = new Map<string, unknown>();
    for (const path of readings) then.set(path, await server.ok('GET', path));
    await server.ok('PUT', '/nodes/n1/rename', { newNode: 'm1' });
    await server.ok('DELETE', '/nodes/n2');
    await server.ok('PUT', '/nodes/n3', { arch: 'aarch64', groups: 'all,rack9', bmcpassword: 'second-secret' });
    await server.ok('PUT', '/groups/rack1', { rack: 'r2' });
    await server.ok('DELETE', '/networks/lab');
    await server.ok('PUT', '/networks/other', { net: '10.8.0.0', mask: '255.255.0.0' });
    await server.ok('PUT', '/osimages/img1', { osvers: 'debian13' });
    await server.ok('DELETE', '/policy/50');
    await server.ok('PUT', '/globalconf/attrs/domain', { domain: 'two.example' });
    for (const path of readings) {
      const reply = await server.call('GET', `${path}?at=${start}`);
      expect([path, reply.status, reply.json]).toEqual([path, 200, then.get(path)]);
      expect([reply.headers['x-muster-revision'], reply.headers.etag]).toEqual([String(start), undefined]);
      expect(reply.text).not.toContain('secret');
      const now = await server.call('GET', path);
      expect([path, now.status === 200 && now.text === reply.text]).toEqual([path, false]);
    }
  });

  it('is asked for by time too, with its zone', async () => {
    const { changes } = await server.ok('GET', `/changes?until=${start}&limit=1`);
    const next = await server.ok('GET', `/changes/${start + 1}`);
    expect(Date.parse(next.time)).toBeGreaterThanOrEqual(Date.parse(changes[0].time));
    const at = async (time: string) =>
      Number((await server.call('GET', `/nodes?at=${encodeURIComponent(time)}`)).headers['x-muster-revision']);
    expect(await at(new Date(Date.parse(next.time) - 1).toISOString())).toBeLessThanOrEqual(start);
    expect(await at(next.time)).toBeGreaterThan(start);
    expect(await at('2020-01-01T00:00:00+01:00')).toBe(0);
    expect(await server.ok('GET', '/nodes?at=2020-01-01T00:00:00+01:00')).toEqual([]);
    expect(await at('2999-01-01T00:00:00Z')).toBe(await revision());
  });

  it('has no status, which the journal does not know', async () => {
    await server.ok('PUT', '/nodes/n4', { status: 'booted' });
    expect(await server.ok('GET', '/nodes/n4')).toMatchObject({ n4: { status: expect.any(String) } });
    const { n4 } = await server.ok('GET', `/nodes/n4?at=${await revision()}`);
    expect(Object.keys(n4).filter((name) => name.includes('status'))).toEqual([]);
  });

  it('is refused with a sentence where it cannot be told', async () => {
    const newest = await revision();
    expect(await refusal(`/nodes?at=${newest + 1}`)).toEqual([
      404,
      [`at: there is no revision ${newest + 1} yet; the newest is ${newest}.`],
    ]);
    for (const at of ['', 'now', '-1', '2026-11-16', '2026-11-16T09:00:00', '1e3', '%00'])
      expect([at, (await refusal(`/nodes?at=${at}`))[0]]).toEqual([at, 400]);
    expect((await refusal('/tables/auditlog/rows?at=1'))[0]).toBe(403);
    expect((await refusal('/nodes/n4/power?at=1'))[0]).toBe(400);
    expect((await refusal(`/nodes/m1?at=${start}`))[0]).toBe(404);
  });
});

describe('what differs between two moments', () => {
  it('is what a change from one to the other would be, whatever happened in between', async () => {
    const from = await revision();
    await server.ok('PUT', '/nodes/n4', { os: 'one' });
    await server.ok('PUT', '/nodes/n4', { os: 'two', serial: 's1' });
    await server.ok('PUT', '/nodes/n4', { serial: '' });
    await server.ok('POST', '/nodes/x1', { groups: 'all' });
    await server.ok('DELETE', '/nodes/x1');
    const to = await revision();
    expect(await server.ok('GET', `/changes/diff?from=${from}&table=nodetype`)).toEqual({
      from,
      to,
      rows: 1,
      changes: [{ table: 'nodetype', key: { node: 'n4' }, before: { os: null }, after: { os: 'two' } }],
    });
    const back = await server.ok('GET', `/changes/diff?from=${to}&to=${from}&noderange=n4&table=nodetype`);
    expect(back.changes[0]).toMatchObject({ before: { os: 'two' }, after: { os: null } });
    expect((await server.ok('GET', `/changes/diff?from=${from}&noderange=x1`)).changes).toEqual([]);
    expect((await server.ok('GET', `/changes/diff?from=${to}`)).rows).toBe(0);
    expect((await server.call('GET', '/changes/diff?from=0')).text).not.toContain('secret');
    expect((await refusal('/changes/diff'))[0]).toBe(400);
  });
});

describe('a change of ten thousand nodes', () => {
  it('is told in pieces and taken back as a whole', async () => {
    const nodes = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, i) => [
        `c${String(i).padStart(5, '0')}`,
        { groups: 'all,big', arch: 'x86_64' },
      ]),
    );
    await server.ok('PUT', '/nodes', nodes);
    const made = await revision();
    await server.ok('PUT', '/nodes/big', { os: 'debian12' });
    const changed = await revision();
    const { changes } = await server.ok('GET', '/changes?limit=2');
    expect(
      changes.map((each: Record<string, unknown[]>) => [each['id'], each['rows'], each['changes']!.length]),
    ).toEqual([
      [changed, 10_000, 20],
      [made, 20_000, 20],
    ]);
    expect((await server.ok('GET', `/changes/${changed}`)).changes).toHaveLength(10_000);
    const lines = (
      await server.call('GET', `/changes/${changed}`, { headers: { accept: 'application/x-ndjson' } })
    ).text
      .trim()
      .split('\n');
    expect(lines).toHaveLength(10_002);
    expect((await server.ok('POST', `/changes/${changed}/revert?dryRun=1`)).changes).toHaveLength(10_000);
    expect((await server.ok('POST', `/changes/${changed}/revert`)).rows).toBe(10_000);
    expect((await server.ok('GET', '/nodes/c05000')).c05000).toEqual({ arch: 'x86_64', groups: 'all,big' });
    expect((await server.ok('GET', `/nodes/c05000?at=${changed}`)).c05000.os).toBe('debian12');
    await server.ok('POST', `/changes/${changed + 1}/revert`);
    await server.ok('POST', `/changes/${changed + 2}/revert`);
    expect((await server.ok('POST', `/changes/${made}/revert`)).rows).toBe(20_000);
    expect(await server.ok('GET', '/nodes')).not.toContain('c00001');
  });
});

describe('an account whose rules cover some nodes', () => {
  const account = { userName: 'op', userPW: 'operates-racks' };
  let token: string;
  let own: number;
  let others: number;
  let both: number;
  const as = (method: string, path: string, body?: unknown) =>
    server.call(method, path, { token, ...(body === undefined ? {} : { body }) });
  const outcome = async (method: string, path: string, body?: unknown) => {
    const { status, json } = await as(method, path, body);
    return [status, json.error] as const;
  };

  beforeAll(async () => {
    await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=op', { password: account.userPW });
    await server.ok('POST', '/nodes/a1,a2', { groups: 'all,ours' });
    await server.ok('POST', '/nodes/b1', { groups: 'all,theirs' });
    await server.ok('PUT', '/groups/ours', { usercomment: 'of-the-group' });
    for (const [at, commands] of [['60', 'lschanges,revert,lsdef,chdef,tabdump']] as const)
      await server.ok('PUT', `/policy/${at}`, { name: 'op', commands, noderange: 'ours', rule: 'allow' });
    ({ token } = await server
      .ok('POST', '/tokens', account, { token: null })
      .then(({ token: { id } }) => ({ token: id })));
    own = await changeOf('/nodes/a1', { rack: 'of-a1' });
    others = await changeOf('/nodes/b1', { rack: 'of-b1' });
    both = await changeOf('/nodes/a2,b1', { room: 'of-both' });
  });
  const changeOf = async (path: string, body: unknown): Promise<number> => {
    await server.ok('PUT', path, body);
    return revision();
  };

  it('sees the rows of these nodes and nothing else', async () => {
    const list = await as('GET', '/changes');
    expect(list.status).toBe(200);
    expect(list.json.changes.map(({ id }: { id: number }) => id).slice(0, 2)).toEqual([both, own]);
    expect(list.json.changes[0].rows).toBe(1);
    expect(list.text).not.toMatch(/"b1"|of-b1|theirs|of-the-group|passwd|policy|networks|site/);
    expect((await as('GET', `/changes/${both}`)).text).not.toMatch(/"b1"|theirs/);
    expect((await as('GET', '/changes?limit=1000&table=policy,passwd,site,nodegroup')).json.changes).toEqual([]);
    expect((await as('GET', '/changes/diff?from=0')).text).not.toMatch(/"b1"|theirs|of-the-group|policy|passwd/);
  });

  it('is told the same of changes of others and of those that do not exist', async () => {
    const [hidden, absent] = [await outcome('GET', `/changes/${others}`), await outcome('GET', '/changes/999999')];
    expect(hidden[0]).toBe(404);
    expect(JSON.stringify(hidden).replace(String(others), 'N')).toBe(JSON.stringify(absent).replace('999999', 'N'));
    const [undo, none] = [
      await outcome('POST', `/changes/${others}/revert`),
      await outcome('POST', '/changes/999999/revert'),
    ];
    expect(undo[0]).toBe(403);
    expect(JSON.stringify(undo).replaceAll(String(others), 'N')).toBe(JSON.stringify(none).replaceAll('999999', 'N'));
    expect(await outcome('GET', '/changes?noderange=b1')).toEqual([
      403,
      [expect.stringContaining('may not run lschanges on b1')],
    ]);
    expect((await outcome('GET', '/changes?noderange=nosuch'))[1]![0]).toContain('may not run lschanges on nosuch');
  });

  it('takes back what is about these nodes only, and what decides trust not at all', async () => {
    expect((await outcome('POST', `/changes/${both}/revert`))[0]).toBe(403);
    expect((await as('GET', `/nodes/a2`)).json.a2.room).toBe('of-both');
    expect((await as('POST', `/changes/${own}/revert`)).status).toBe(201);
    expect((await as('GET', '/nodes/a1')).json.a1.rack).toBeUndefined();
    const trust = await changeOf('/nodes/a1', { mgt: 'ipmi', bmc: '127.10.0.9' });
    const [status, sentences] = await outcome('POST', `/changes/${trust}/revert`);
    expect([status, sentences![0]]).toEqual([403, expect.stringContaining('it decides whom muster trusts')]);
    const moved = await changeOf('/nodes/a1', { groups: 'all,ours,extra' });
    expect((await outcome('POST', `/changes/${moved}/revert`))[0]).toBe(403);
  });

  it('takes back what it did itself, also to a group of these nodes', async () => {
    const reply = await as('PUT', '/groups/ours', { usercomment: 'by-op' });
    expect(reply.status).toBe(200);
    const id = Number(reply.headers['x-muster-revision']);
    expect((await as('GET', `/changes/${id}`)).json.changes[0].after.comments).toBe('by-op');
    expect((await as('POST', `/changes/${id}/revert`)).status).toBe(201);
    expect((await server.ok('GET', '/groups/ours')).ours.usercomment).toBe('of-the-group');
  });

  it('sees of the past only nodes that are and were theirs', async () => {
    const before = await revision();
    expect((await as('GET', `/nodes/a1?at=${before}`)).status).toBe(200);
    expect((await outcome('GET', `/nodes/b1?at=${before}`))[0]).toBe(403);
    expect((await outcome('GET', `/tables/nodepos/rows?at=${before}`))[0]).toBe(403);
    // A node that joins tells nothing of the time when it was of others.
    await server.ok('PUT', '/nodes/b1', { groups: 'all,ours' });
    expect((await as('GET', '/nodes/b1')).status).toBe(200);
    expect((await outcome('GET', `/nodes/b1?at=${before}`))[0]).toBe(403);
    expect((await as('GET', `/nodes/ours?at=${before}`)).text).not.toContain('b1');
    expect((await as('GET', `/changes/diff?from=${before - 1}`)).text).not.toContain('of-b1');
    await server.ok('PUT', '/nodes/b1', { groups: 'all,theirs' });
    expect((await outcome('GET', `/nodes/b1?at=${before + 1}`))[0]).toBe(403);
  });

  it('sees nothing of a node of the same name that was there before', async () => {
    await server.ok('POST', '/nodes/z1', { groups: 'all,theirs', rack: 'of-their-z1' });
    await server.ok('DELETE', '/nodes/z1');
    await server.ok('POST', '/nodes/z1', { groups: 'all,ours', rack: 'of-our-z1' });
    const { text, json } = await as('GET', '/changes?noderange=z1');
    expect(json.changes).toHaveLength(1);
    expect(text).not.toContain('of-their-z1');
    await server.ok('DELETE', '/nodes/z1');
  });

  it('is refused at once where no rule could allow it', async () => {
    await server.ok('PUT', '/policy/60', { commands: 'lsdef' });
    for (const path of ['/changes', `/changes/${own}`, '/changes/diff?from=0', '/changes?noderange=a1'])
      expect([path, (await outcome('GET', path))[0]]).toEqual([path, 403]);
    expect((await outcome('POST', `/changes/${own}/revert`))[0]).toBe(403);
    expect((await server.call('GET', '/changes', { token: null })).status).toBe(401);
  });
});
