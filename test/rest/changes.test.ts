import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
  await server.ok('POST', '/nodes/n1-n3', { groups: 'all', arch: 'x86_64', mgt: 'ipmi' });
});
afterAll(() => server.stop());

/** The number of the change that a request made. */
async function changed(method: string, path: string, body?: unknown): Promise<number> {
  const reply = await server.call(method, path, body === undefined ? {} : { body });
  expect([reply.status < 300, reply.text]).toEqual([true, expect.any(String)]);
  return Number(reply.headers['x-muster-revision']);
}

const refusal = async (method: string, path: string, options = {}) => {
  const { status, json } = await server.call(method, path, options);
  return [status, json.error] as const;
};

describe('what was changed', () => {
  it('is told with who, when, from where and by which run', async () => {
    const reply = await server.call('PUT', '/nodes/n1', { body: { arch: 'aarch64', rack: 'r1' } });
    const id = Number(reply.headers['x-muster-revision']);
    const { changes } = await server.ok('GET', '/changes?limit=1');
    const expected = {
      id,
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      user: 'root',
      client: '127.0.0.1',
      command: 'chdef',
      run: reply.headers['x-muster-run'],
      rows: 2,
    };
    const rows = [
      { table: 'nodetype', key: { node: 'n1' }, before: { arch: 'x86_64' }, after: { arch: 'aarch64' } },
      { table: 'nodepos', key: { node: 'n1' }, before: null, after: { node: 'n1', rack: 'r1' } },
    ];
    expect(changes).toEqual([{ ...expected, tables: ['nodetype', 'nodepos'], changes: rows }]);
    expect(await server.ok('GET', `/changes/${id}`)).toEqual({ ...expected, changes: rows });
  });

  it('shows no secret, whatever became of it', async () => {
    const first = await changed('PUT', '/nodes/n1', { bmcpassword: 'one-secret' });
    const second = await changed('PUT', '/nodes/n1', { bmcpassword: 'another-secret' });
    for (const id of [first, second]) {
      const reply = await server.call('GET', `/changes/${id}`);
      expect(reply.json.changes[0].after.password).toBe('********');
      expect(reply.text).not.toMatch(/secret|"password":"(?!\*{8}")/);
    }
  });

  it('is chosen by nodes, tables, user, command, revision and time, page by page', async () => {
    await changed('PUT', '/nodes/n2,n3', { rack: 'r9' });
    const start = await changed('PUT', '/networks/lab', { net: '10.9.0.0', mask: '255.255.0.0' });
    const ids = async (query: string): Promise<number[]> =>
      (await server.ok('GET', `/changes?${query}`)).changes.map(({ id }: { id: number }) => id);
    expect(await ids(`since=${start}`)).toEqual([start]);
    expect(await ids('table=networks')).toEqual([start]);
    expect(await ids('user=nobody')).toEqual([]);
    expect(await ids(`noderange=n2&since=${start - 1}`)).toEqual([start - 1]);
    expect((await server.ok('GET', `/changes?noderange=n2&since=${start - 1}`)).changes[0].rows).toBe(1);
    expect((await ids('command=mkdef')).length).toBe(1);
    const all = await ids('limit=1000');
    const paged: number[] = [];
    for (let until: number | undefined = start; until !== undefined; ) {
      const page = await server.ok('GET', `/changes?limit=2&until=${until}`);
      paged.push(...page.changes.map(({ id }: { id: number }) => id));
      until = page.next;
    }
    expect(paged).toEqual(all);
    const { time } = await server.ok('GET', `/changes/${start}`);
    const later = new Date(Date.parse(time) - 1).toISOString();
    expect((await ids(`since=${later}`)).at(-1)).toBe(start);
    expect((await ids(`until=${later}`))[0]).toBe(start - 1);
  });

  it('is refused with a sentence where the question makes no sense', async () => {
    expect(await refusal('GET', '/changes?limit=0')).toEqual([400, ['limit: give a number from 1 to 1000.']]);
    expect((await refusal('GET', '/changes?since=yesterday'))[0]).toBe(400);
    expect((await refusal('GET', '/changes?table=nosuch'))[0]).toBe(404);
    expect((await refusal('GET', '/changes/x'))[0]).toBe(400);
    expect((await refusal('GET', '/changes/999999'))[0]).toBe(404);
    expect((await refusal('GET', '/changes?until=999999'))[0]).toBe(404);
  });
});

describe('taking back a change', () => {
  it('restores every table, as a change of its own', async () => {
    const before = await server.ok('GET', '/nodes/ALLRESOURCES');
    const id = await changed('PUT', '/nodes/n1-n3', { arch: 'ppc64le', bmcpassword: 'x1-secret' });
    const dry = await server.ok('POST', `/changes/${id}/revert?dryRun=1`);
    expect(dry.changes).toHaveLength(6);
    expect(JSON.stringify(dry)).not.toContain('secret');
    expect(await server.ok('POST', `/changes/${id}/revert`)).toEqual({ id: id + 1, reverts: id, rows: 6 });
    expect(await server.ok('GET', '/nodes/ALLRESOURCES')).toEqual(before);
    const { user, command, reverts } = await server.ok('GET', `/changes/${id + 1}`);
    expect([user, command, reverts]).toEqual(['root', 'revert', id]);
    expect(await refusal('POST', `/changes/${id}/revert`)).toEqual([
      409,
      [`Change ${id} was taken back already, by change ${id + 1}.`],
    ]);
    // And the other way round.
    await server.ok('POST', `/changes/${id + 1}/revert`);
    expect((await server.ok('GET', '/nodes/n1')).n1.arch).toBe('ppc64le');
  });

  it('brings back nodes that were removed, and takes back a new name', async () => {
    const before = await server.ok('GET', '/nodes/n1-n3');
    const removed = await changed('DELETE', '/nodes/n1-n3');
    await server.ok('POST', `/changes/${removed}/revert`);
    expect(await server.ok('GET', '/nodes/n1-n3')).toEqual(before);
    const renamed = await changed('PUT', '/nodes/n1/rename', { newNode: 'm1' });
    await server.ok('POST', `/changes/${renamed}/revert`);
    expect(await server.ok('GET', '/nodes/n1-n3')).toEqual(before);
    expect((await server.ok('GET', '/changes?noderange=m1')).changes).toHaveLength(2);
  });

  it('is refused with names where later changes overlap, and only there', async () => {
    const first = await changed('PUT', '/nodes/n1,n2', { os: 'one' });
    const apart = await changed('PUT', '/nodes/n2', { arch: 'other' });
    const later = await changed('PUT', '/nodes/n2', { os: 'two' });
    const [status, sentences] = await refusal('POST', `/changes/${first}/revert`);
    expect(status).toBe(409);
    expect(sentences[0]).toMatch(
      new RegExp(`^n2: nodetype.os: change ${later} \\(chdef by root, .*\\) came later\\.$`),
    );
    await server.ok('POST', `/changes/${later}/revert`);
    await server.ok('POST', `/changes/${first}/revert`);
    expect((await server.ok('GET', '/nodes/n2')).n2).toMatchObject({ arch: 'other' });
    await server.ok('POST', `/changes/${apart}/revert`);
    const gone = await changed('PUT', '/nodes/n3', { rack: 'r10' });
    const removal = await changed('DELETE', '/nodes/n3');
    expect((await refusal('POST', `/changes/${gone}/revert`))[1][0]).toContain(`change ${removal} (rmdef by root`);
    await server.ok('POST', `/changes/${removal}/revert`);
  });

  it('never brings back tokens, and leaves somebody who may do everything', async () => {
    const made = await changed('PUT', '/tables/passwd/rows/key=xcat,username=eve', { password: 'correct horse' });
    const { token } = (
      await server.client.call('POST', '/tokens', { body: { userName: 'eve', userPW: 'correct horse' } })
    ).json;
    const { changes } = await server.ok('GET', '/changes?table=token&user=eve');
    expect((await refusal('POST', `/changes/${changes[0].id}/revert`))[0]).toBe(403);
    const ended = await changed('PUT', '/tables/passwd/rows/key=xcat,username=eve', { password: 'another horse' });
    await server.ok('POST', `/changes/${ended}/revert`);
    expect((await server.call('GET', '/nodes', { token: token.id })).status).toBe(401);
    const again = await server.client.call('POST', '/tokens', { body: { userName: 'eve', userPW: 'correct horse' } });
    expect(again.status).toBe(201);
    await server.ok('POST', `/changes/${made}/revert`);
  });
});
