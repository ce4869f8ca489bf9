import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Reply } from '../harness/client.ts';
import type { TestServer } from '../harness/server.ts';
import { allWorkers, type NetworkedCluster, startNetworkedCluster } from './networks.ts';

const count = 80;
const workerCount = 4;
const timeout = 120_000;
let cluster: NetworkedCluster;

beforeAll(async () => {
  cluster = await startNetworkedCluster({ servers: 3, workers: workerCount, bmcs: count, delayStep: 5 });
}, timeout);
afterAll(() => cluster?.remove());

interface Result {
  readonly node: string;
  readonly value?: { readonly power: string };
  readonly error?: string;
}

/** How many commands that change something each BMC has got. */
const controls = (): Promise<number[]> =>
  Promise.all(cluster.bmcs.addresses.map(async (_, index) => (await cluster.bmcs.state(index)).controls.length));

interface UnderWay {
  readonly before: readonly number[];
  readonly asked: Promise<Reply>;
}

/** Resolves when some BMCs have got the command and others have not. */
async function powerOnUnderWay(server: TestServer, headers: Record<string, string> = {}): Promise<UnderWay> {
  await server.ok('PUT', '/nodes/all/power', { action: 'off' });
  const before = await controls();
  const asked = server.call('PUT', '/nodes/all/power', { body: { action: 'on' }, headers });
  while ((await cluster.bmcs.poweredOn()) < 10);
  return { before, asked };
}

const runOf = ({ headers }: Reply): string => `/runs/${String(headers['x-muster-run'])}`;

/** Each node has one result, which is true, and no BMC got the command twice. Answers the errors. */
async function expectOneEach(results: readonly Result[], before: readonly number[]): Promise<string[]> {
  const byNode = new Map(results.map((result) => [result.node, result]));
  expect([byNode.size, results.length]).toEqual([count, count]);
  const errors: string[] = [];
  for (const [index, after] of (await controls()).entries()) {
    const { node, value, error } = byNode.get(`n${index + 1}`)!;
    const commands = after - before[index]!;
    if (error === undefined) expect([node, value, commands]).toEqual([node, { power: 'on' }, 1]);
    else errors.push(error);
    expect(commands).toBeLessThanOrEqual(1);
  }
  return errors;
}

/** Who would do the work on a node. */
async function workerOf(server: TestServer, node: string): Promise<string | undefined> {
  const { targets } = await server.ok('PUT', `/nodes/${node}/power`, { action: 'on' }, { query: { dryRun: 1 } });
  return targets[node].worker;
}

const poweredNodes = async (server: TestServer): Promise<number> =>
  Object.keys(await server.ok('GET', '/nodes/all/power')).length;

test('a server that is cut off from NATS in the middle has one result for each node; the others go on', {
  timeout,
}, async () => {
  const [first, second] = cluster.servers;
  const { before, asked } = await powerOnUnderWay(first!.server);
  first!.cables.bus.cut();
  expect(await poweredNodes(second!.server)).toBe(count);
  expect(await workerOf(second!.server, 'n1')).toBe('sn1');
  const reply = await asked;
  const errors = await expectOneEach((await first!.server.ok('GET', runOf(reply))).results, before);
  for (const error of errors)
    expect(error).toMatch(/was lost while it did rpower on this node, so that may have happened/);
  // It does the work itself as long as that lasts.
  expect(await workerOf(first!.server, 'n1')).toBeUndefined();
  expect(await poweredNodes(first!.server)).toBe(count);
  first!.cables.bus.mend();
  await allWorkers(first!.server, workerCount);
  expect(await workerOf(first!.server, 'n1')).toBe('sn1');
  expect(await poweredNodes(first!.server)).toBe(count);
});

test('a worker that is cut off from NATS in the middle costs only what it had begun', { timeout }, async () => {
  const [, second, third] = cluster.servers;
  const [{ cables }] = cluster.workers as [(typeof cluster.workers)[0]];
  const { before, asked } = await powerOnUnderWay(second!.server);
  cables.bus.cut();
  const errors = await expectOneEach((await second!.server.ok('GET', runOf(await asked))).results, before);
  for (const error of errors) expect(error).toMatch(/^the worker sn1 was lost while it did rpower on this node/);
  expect(await workerOf(third!.server, 'n1')).toBe('sn2');
  cables.bus.mend();
  await Promise.all(cluster.servers.map(({ server }) => allWorkers(server, workerCount)));
  expect(await workerOf(third!.server, 'n1')).toBe('sn1');
});

test('NATS that is killed in the middle and stays away leaves one result for each node at all servers', {
  timeout,
}, async () => {
  const [first, second, third] = cluster.servers;
  const { before, asked } = await powerOnUnderWay(third!.server);
  await cluster.nats.kill();
  const errors = await expectOneEach((await third!.server.ok('GET', runOf(await asked))).results, before);
  for (const error of errors) expect(error).toContain('so that may have happened');
  for (const { server } of [first!, second!]) expect(await poweredNodes(server)).toBe(count);
  await cluster.nats.start();
  await Promise.all(cluster.servers.map(({ server }) => allWorkers(server, workerCount)));
});

test('a server that is cut off from PostgreSQL reads on, refuses to write, and follows when it is back', {
  timeout,
}, async () => {
  const [first, second, third] = cluster.servers;
  third!.cables.database.cut();
  const written = await first!.server.call('PUT', '/nodes/n1', { body: { rack: 'r1' } });
  expect(written.status).toBe(200);
  const refused = await third!.server.call('PUT', '/nodes/n2', { body: { rack: 'lost' } });
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
  const old = await third!.server.call('GET', '/nodes/n1');
  expect([old.status, Number(old.headers['x-muster-age']) > 0]).toEqual([200, true]);
  expect((await third!.server.call('GET', '/health')).status).toBe(503);
  await second!.server.ok('PUT', '/nodes/n1', { room: 'r2' });
  third!.cables.database.mend();
  await expect
    .poll(async () => (await third!.server.call('PUT', '/nodes/n2', { body: { rack: 'back' } })).status, { timeout })
    .toBe(200);
  const headers = { 'x-muster-revision': String(written.headers['x-muster-revision']) };
  expect((await third!.server.ok('GET', '/nodes/n1', undefined, { headers })).n1).toMatchObject({
    rack: 'r1',
    room: 'r2',
  });
  await expect.poll(async () => (await third!.server.call('GET', '/health')).status, { timeout }).toBe(200);
  await expect.poll(async () => (await first!.server.ok('GET', '/nodes/n2')).n2.rack, { timeout }).toBe('back');
});

test('of a server that is killed in the middle the others know the run, and no BMC gets the command twice', {
  timeout,
}, async () => {
  const [first, second, third] = cluster.servers;
  const { before, asked } = await powerOnUnderWay(first!.server, { Prefer: 'respond-async' });
  const path = runOf(await asked);
  await first!.server.kill();
  const shown = (server: TestServer) => server.ok('GET', path);
  await expect.poll(async () => (await shown(second!.server)).state, { timeout }).toBe('interrupted');
  const run = await shown(third!.server);
  expect(run).toMatchObject({
    state: 'interrupted',
    nodes: count,
    error: [expect.stringMatching(/^The server \S+ that did this run was stopped or killed;/)],
  });
  const errors = await expectOneEach(run.results, before);
  expect(errors.length).toBeGreaterThan(0);
  for (const error of errors)
    expect(error).toMatch(/^the server \S+ was stopped or killed before it wrote down a result/);
  // The workers are free for others.
  expect(await poweredNodes(second!.server)).toBe(count);
  await first!.start();
  expect(await shown(first!.server)).toEqual(run);
  await allWorkers(first!.server, workerCount);
  expect(await workerOf(first!.server, 'n1')).toBe('sn1');
});
