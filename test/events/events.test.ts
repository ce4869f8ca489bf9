import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EventClient, type EventOptions } from '../harness/events.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser, defineNodes } from '../harness/users.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';

let server: TestServer;
let bmcs: BmcLab;
const clients: EventClient[] = [];

beforeAll(async () => {
  [server, bmcs] = await Promise.all([startServer(), startBmcs({ count: 2, prefix: '127.94' })]);
  await defineNodes(server, 'n1-n4', { rack: 'r0' });
  await defineNodes(server, 'k1-k2', { groups: 'all,kept' });
});
afterAll(async () => {
  for (const client of clients) client.close();
  await Promise.all([server?.stop(), bmcs?.stop()]);
});

async function listen(options: EventOptions = {}): Promise<EventClient> {
  const client = await EventClient.open(server, options);
  clients.push(client);
  await client.ready();
  return client;
}

/** Something that everybody is told, to know that all before it was told. */
async function mark(value: string): Promise<void> {
  await server.ok('PUT', '/nodes/n4', { usercomment: value });
}
const isMark = (value: string) => (data: { rows?: { set?: { comments?: string } }[] }) =>
  data.rows?.some(({ set }) => set?.comments === value) === true;

describe('who listens', () => {
  it('hears of a change: who, by what, and what rows became, those that became the same together', async () => {
    const client = await listen();
    const reply = await server.call('PUT', '/nodes/n1-n3', { body: { rack: 'r1', mgt: 'ipmi', bmcpassword: 'hush' } });
    const { data, event } = await client.event(({ command }) => command === 'chdef');
    expect(event).toBe('change');
    expect(data).toEqual({
      kind: 'change',
      revision: Number(reply.headers['x-muster-revision']),
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      user: 'root',
      client: '127.0.0.1',
      command: 'chdef',
      run: reply.headers['x-muster-run'],
      rows: expect.arrayContaining([
        { table: 'nodepos', nodes: ['n1', 'n2', 'n3'], set: { rack: 'r1' } },
        { table: 'ipmi', nodes: ['n1', 'n2', 'n3'], new: true, set: { password: '********' } },
      ]),
    });
    client.close();
  });

  it('hears of what was made, cleared and removed, also in tables that are of no node', async () => {
    const client = await listen({ query: { kinds: 'change' } });
    await server.ok('PUT', '/tables/site/rows/key=domain', { value: 'a.b' });
    await server.ok('PUT', '/nodes/n1', { rack: '' });
    await server.ok('DELETE', '/tables/site/rows/key=domain');
    await client.until(({ events }) => events.length >= 3);
    expect(client.events.map(({ data }) => data.rows)).toEqual([
      [{ table: 'site', keys: [{ key: 'domain' }], new: true, set: { value: 'a.b' } }],
      [{ table: 'nodepos', nodes: ['n1'], set: { rack: '' } }],
      [{ table: 'site', keys: [{ key: 'domain' }], removed: true }],
    ]);
    client.close();
  });

  it('is told a change of many rows in several events, of which the last has the id', async () => {
    const client = await listen({ query: { kinds: 'change' } });
    await server.ok('POST', '/nodes/m1-m1200', { groups: 'all' });
    const last = await client.event(({ more }) => more === undefined);
    const names = client.events.flatMap(({ data }) => data.rows.flatMap(({ nodes }: { nodes: string[] }) => nodes));
    expect(new Set(names).size).toBe(1200);
    expect(names.length).toBe(1200);
    expect(client.events.map(({ id }) => id !== undefined)).toEqual([false, false, true]);
    expect(last.data.command).toBe('mkdef');
    await server.ok('DELETE', '/nodes/m1-m1200');
    client.close();
  });

  it('hears of status, of power as it becomes known, and of runs', async () => {
    await server.ok('PUT', '/nodes/n1-n2', { mgt: 'ipmi', bmcusername: 'admin', bmcpassword: 'secret' });
    await server.ok('PUT', '/nodes/n1', { bmc: bmcs.addresses[0] });
    await server.ok('PUT', '/nodes/n2', { bmc: bmcs.addresses[1] });
    const client = await listen();
    const reply = await server.call('PUT', '/nodes/n1-n2/power', { body: { action: 'on' } });
    const run = reply.headers['x-muster-run'];
    const status = await client.event((_data, kind) => kind === 'status');
    expect(status.data).toMatchObject({ kind: 'status', status: 'powering-on' });
    const power = await client.event((_data, kind) => kind === 'power');
    expect(power.data).toMatchObject({ kind: 'power', power: 'on', time: expect.any(String) });
    const ended = await client.event((data) => data.run === run && data.state === 'finished');
    expect(ended.data).toMatchObject({ command: 'rpower', user: 'root', nodes: 2, ok: 2, failed: 0, errorcode: 0 });
    const states = client.events.filter(({ data }) => data.kind === 'run').map(({ data }) => data.state);
    expect([states[0], states.at(-1)]).toEqual(['begun', 'finished']);
    client.close();
  });

  it('by kinds and by a range of nodes hears of these only', async () => {
    const byKind = await listen({ query: { kinds: 'status' } });
    const byRange = await listen({ query: { noderange: 'k1,kept' } });
    await server.ok('PUT', '/nodes/n1,k1', { usercomment: 'x', status: 'booted' });
    await server.ok('PUT', '/groups/kept', { rack: 'r9' });
    await server.ok('PUT', '/nodes/k1', { status: 'failed' });
    await byKind.event(({ status }) => status === 'failed');
    expect(new Set(byKind.events.map(({ event }) => event))).toEqual(new Set(['status']));
    await byRange.event(({ status }) => status === 'failed');
    const nodes = byRange.events.flatMap(
      ({ data }) => data.nodes ?? data.rows.flatMap((row: Record<string, unknown>) => row['nodes']),
    );
    expect(new Set(nodes)).toEqual(new Set(['k1', 'kept']));
    byKind.close();
    byRange.close();
  });

  it('is refused an unknown kind, node or id, and gets an end when it wants one', async () => {
    expect((await server.call('GET', '/events', { query: { kinds: 'weather' } })).json.error[0]).toContain('"weather"');
    expect((await server.call('GET', '/events', { query: { noderange: 'nosuch' } })).status).toBe(404);
    expect((await server.call('GET', '/events', { headers: { 'Last-Event-ID': 'x' } })).status).toBe(400);
    expect((await server.call('GET', '/events', { query: { seconds: 'x' } })).status).toBe(403);
    expect((await server.call('GET', '/events', { query: { seconds: '0' } })).status).toBe(200);
    const head = await server.call('HEAD', '/events');
    expect([head.status, head.headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8']);
  });
});

describe('who was cut off', () => {
  it('goes on after the last event it has, with everything in between once', async () => {
    const first = await listen();
    await mark('before');
    await first.event(isMark('before'));
    first.close();
    for (let i = 1; i <= 5; i++) await server.ok('PUT', '/nodes/n1', { usercomment: `while ${i}` });
    await server.ok('PUT', '/nodes/n1', { status: 'ping' });
    const second = await listen({ after: first.lastEventId! });
    await mark('after');
    await second.event(isMark('after'));
    const told = second.events.flatMap(
      ({ data }) => data.rows?.map(({ set }: { set: { comments?: string } }) => set.comments) ?? data.status,
    );
    expect(told).toEqual(['while 1', 'while 2', 'while 3', 'while 4', 'while 5', 'ping', 'after']);
    second.close();
  });

  it('because it did not read was told so, and misses nothing', async () => {
    const dropped = async (): Promise<number> =>
      Number(/^muster_event_listeners_dropped_total (\d+)$/m.exec((await server.call('GET', '/metrics')).text)![1]);
    const before = await dropped();
    const slow = await listen({ query: { kinds: 'change', noderange: 'n3' } });
    slow.response!.pause();
    const quick = await listen({ query: { kinds: 'change' } });
    let written = 0;
    while ((await dropped()) === before)
      await server.ok('PUT', '/nodes/n3', { usercomment: `${String(++written)} ${'x'.repeat(60_000)}` });
    slow.response!.resume();
    await slow.over();
    expect(slow.events.at(-1)).toMatchObject({
      event: 'dropped',
      data: { message: expect.stringContaining('behind') },
    });
    const second = await listen({ query: { kinds: 'change', noderange: 'n3' }, after: slow.lastEventId! });
    const numbers = (client: EventClient): number[] =>
      client.events.flatMap(({ data }) => (data.rows ? Number.parseInt(data.rows[0].set.comments, 10) : []));
    expect([...numbers(slow), ...numbers(second)]).toEqual(Array.from({ length: written }, (_, i) => i + 1));
    await quick.until((client) => numbers(client).at(-1) === written);
    expect(numbers(quick)).toEqual(Array.from({ length: written }, (_, i) => i + 1));
    quick.close();
    second.close();
  });

  it('after a restart is told the changes, and that runs and power are not known', async () => {
    const data = temporaryDirectory();
    let other = await startServer({ data });
    await defineNodes(other, 'n1');
    const first = await EventClient.open(other);
    await first.ready();
    await other.ok('PUT', '/nodes/n1', { usercomment: 'one' });
    await first.event(isMark('one'));
    await other.stop();
    await first.over();
    expect(first.events.at(-1)).toMatchObject({
      event: 'dropped',
      data: { message: expect.stringContaining('shutting down') },
    });
    other = await startServer({ data });
    await other.ok('PUT', '/nodes/n1', { usercomment: 'two' });
    await other.ok('PUT', '/nodes/n1', { status: 'booted' });
    const second = await EventClient.open(other, { after: first.lastEventId! });
    await second.ready();
    expect(second.events.map(({ event }) => event)).toEqual(['gap', 'change', 'status']);
    expect(second.events[0]!.data.message).toContain('runs, power states and notices');
    const third = await EventClient.open(other, { after: first.lastEventId!, query: { kinds: 'change' } });
    await third.ready();
    expect(third.events.map(({ event }) => event)).toEqual(['change']);
    const fourth = await EventClient.open(other, { after: '999999.00000000.0' });
    await fourth.ready();
    expect(fourth.events.map(({ data: { message } }) => message)).toEqual([expect.stringContaining('Read again')]);
    for (const client of [second, third, fourth]) client.close();
    await other.stop();
    rmSync(data, { recursive: true });
  });
});

describe('who may see some nodes only', () => {
  it('hears of these and of nothing else, and of its own runs', async () => {
    const token = await addUser(server, 'keeper');
    await server.ok('POST', '/policy/50', {
      name: 'keeper',
      commands: 'events,rpower',
      noderange: 'kept',
      rule: 'allow',
    });
    const client = await listen({ token });
    await server.ok('PUT', '/nodes/n1-n2,k1', { usercomment: 'seen' });
    await server.ok('PUT', '/tables/site/rows/key=domain', { value: 'c.d' });
    await server.ok('PUT', '/groups/all', { rack: 'r7' });
    await server.ok('PUT', '/nodes/n1,k2', { status: 'booted' });
    await server.call('PUT', '/nodes/n1/power', { body: { action: 'stat' } });
    await server.call('PUT', '/nodes/k1/power', { body: { action: 'stat' }, token });
    await server.ok('DELETE', '/nodes/k2');
    await client.event(({ rows }) => rows?.some(({ removed }: { removed?: boolean }) => removed));
    const text = JSON.stringify(client.events);
    expect(text).not.toMatch(/"n\d"|c\.d|r7/);
    expect(client.events.map(({ event }) => event)).toContain('run');
    expect(client.events.filter(({ event }) => event === 'run').every(({ data }) => data.user === 'keeper')).toBe(true);
    const seen = client.events.flatMap(
      ({ data }) => data.nodes ?? data.rows?.flatMap((row: { nodes: string[] }) => row.nodes) ?? [],
    );
    expect(seen).toEqual(expect.arrayContaining(['k1', 'k2']));
    expect((await server.call('GET', '/events', { query: { noderange: 'n1' }, token })).status).toBe(403);
    client.close();
  });

  it('hears nothing of a node that had the name of one of its own', async () => {
    const token = await addUser(server, 'heir');
    await server.ok('POST', '/policy/52', { name: 'heir', commands: 'events', noderange: 'k7', rule: 'allow' });
    await server.ok('POST', '/nodes/k7', { groups: 'all', usercomment: 'of another' });
    await server.ok('PUT', '/nodes/k7', { rack: 'another' });
    await server.ok('DELETE', '/nodes/k7');
    await server.ok('POST', '/nodes/k7', { groups: 'all', usercomment: 'its own' });
    const listener = await listen();
    const [sequence] = listener.lastEventId!.split('.');
    for (const after of [`${Number(sequence) - 4}.00000000.0`, listener.lastEventId!]) {
      const client = await listen({ token, after });
      await server.ok('PUT', '/nodes/k7', { room: 'now' });
      await client.event(({ rows }) => rows?.some(({ table }: { table: string }) => table === 'nodepos'));
      expect(JSON.stringify(client.events)).not.toMatch(/another|removed/);
      client.close();
    }
    listener.close();
  });

  it('without any rule is refused', async () => {
    const token = await addUser(server, 'nobody');
    expect((await server.call('GET', '/events', { token })).status).toBe(403);
  });

  it('is cut off when its rights or its credentials end', async () => {
    const token = await addUser(server, 'leaver');
    await server.ok('POST', '/policy/51', { name: 'leaver', commands: 'events', rule: 'allow' });
    const first = await listen({ token });
    await server.ok('PUT', '/policy/51', { noderange: 'k1' });
    await first.over();
    expect(first.events.at(-1)).toMatchObject({
      event: 'dropped',
      data: { message: expect.stringContaining('changed') },
    });
    const second = await listen({ token });
    await server.ok('DELETE', `/tables/passwd/rows/key=xcat,username=leaver`);
    await second.over();
    expect(second.events.at(-1)).toMatchObject({
      event: 'dropped',
      data: { message: expect.stringContaining('log in') },
    });
  });

  it('is cut off also while it is still told what has been', async () => {
    const token = await addUser(server, 'reader');
    await server.ok('POST', '/policy/53', { name: 'reader', commands: 'events', rule: 'allow' });
    const first = await listen();
    const after = first.lastEventId!;
    first.close();
    // More than the connection takes without being read.
    for (let i = 0; i < 80; i++) {
      const comment = (n: number) => ({ usercomment: `${i} ${n} ${'x'.repeat(60_000)}` });
      await server.ok('PUT', '/nodes', { n1: comment(1), n2: comment(2), n3: comment(3), n4: comment(4) });
    }
    const client = await EventClient.open(server, { token, after });
    clients.push(client);
    client.response!.pause();
    await server.ok('DELETE', '/policy/53');
    client.response!.resume();
    await client.over();
    expect(client.events.at(-1)).toMatchObject({ event: 'dropped' });
    expect(client.blocks.some(({ event }) => event === 'ready')).toBe(false);
    await server.ok('PUT', '/nodes/n1-n4', { usercomment: '' });
  });
});
