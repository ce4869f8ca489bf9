import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Reply } from '../harness/client.ts';
import { labAccounts } from '../lab/addresses.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';
import { type BusCluster, startBusCluster } from './cluster.ts';

/** For a long look: MUSTER_WORKER_KILL_BMCS=1000 MUSTER_WORKER_KILL_ROUNDS=20 npm test -- test/bus/hardware -t 'killed in the middle of power on' */
const count = Number(process.env['MUSTER_WORKER_KILL_BMCS'] ?? 400);
const rounds = Number(process.env['MUSTER_WORKER_KILL_ROUNDS'] ?? 2);
const longLook = { timeout: 240_000 + rounds * 60_000 };
let cluster: BusCluster;
let bmcs: LightLab;

beforeAll(async () => {
  [cluster, bmcs] = await Promise.all([
    startBusCluster(['sn1', 'sn2']),
    startLightBmcs({ count, prefix: '127.151', delay: 20 }),
  ]);
  const { username, password } = labAccounts.administrator;
  const access = { mgt: 'ipmi', bmcusername: username, bmcpassword: password };
  await cluster.server.ok('POST', '/definitions', {
    definitions: bmcs.addresses.map((bmc, index) => ({
      type: 'node',
      names: `n${index + 1}`,
      attributes: { ...access, groups: 'all', bmc, servicenode: 'sn1,sn2' },
    })),
  });
});
afterAll(async () => {
  await cluster?.remove();
  await bmcs?.stop();
});

/** Sessions that the server itself has with BMCs. */
async function sessionsOfServer(): Promise<string | undefined> {
  const { text } = await cluster.server.call('GET', '/metrics');
  return /^muster_\w*sessions\{driver="ipmi"\} (\d+)$/m.exec(text)?.[1];
}

interface Result {
  readonly node: string;
  readonly value?: { readonly power: string };
  readonly error?: string;
}

/** All results of the run that a reply belongs to, by node; none has two. */
async function resultsOf({ headers }: Reply): Promise<Map<string, Result>> {
  const run = await cluster.server.ok('GET', `/runs/${String(headers['x-muster-run'])}`);
  const results = run.results as Result[];
  const byNode = new Map(results.map((result) => [result.node, result]));
  expect(byNode.size).toBe(results.length);
  return byNode;
}

const controls = async (): Promise<number[]> =>
  Promise.all(bmcs.addresses.map(async (_, index) => (await bmcs.state(index)).controls.length));

test('a worker does what its nodes need, and a dry run says so before', async () => {
  const { server } = cluster;
  const worker = await cluster.worker('sn1');
  const tried = await server.ok('PUT', '/nodes/n1/power', { action: 'on' }, { query: { dryRun: 1 } });
  expect(tried.targets).toEqual({ n1: { mgt: 'ipmi', address: '127.151.0.1', worker: 'sn1' } });
  await server.ok('PUT', '/nodes/all/power', { action: 'on' });
  expect(await bmcs.poweredOn()).toBe(count);
  expect(await server.ok('GET', '/nodes/n1/power')).toEqual({ n1: { power: 'on' } });
  expect(await sessionsOfServer()).toBe('0');
  expect(await server.ok('GET', '/nodes/n1/attrs/status')).toEqual({ n1: { status: 'powering-on' } });
  expect(await cluster.listed('sn1', () => true)).toMatchObject({ role: 'worker', assigned: count });
  await worker.stop();
  expect(worker.child.exitCode).toBe(0);
  const gone = await cluster.listed('sn1', ({ state }) => state === 'gone');
  expect(gone.problem).toBe('It was stopped. Start it with muster worker, or with its systemd unit.');
  // Now the server does it itself.
  await server.ok('GET', '/nodes/n1/power');
  expect(await sessionsOfServer()).toBe('1');
});

test(
  'a worker that is killed in the middle of power on leaves one result per node, and no BMC gets it twice',
  longLook,
  async () => {
    const { server } = cluster;
    await cluster.worker('sn2');
    let maybe = 0;
    for (let round = 0; round < rounds; round++) {
      await server.ok('PUT', '/nodes/all/power', { action: 'off' });
      const worker = await cluster.worker('sn1');
      const before = await controls();
      const asked = server.call('PUT', '/nodes/all/power', { body: { action: 'on' } });
      while ((await bmcs.poweredOn()) <= (0.6 * count * round) / rounds);
      await worker.kill();
      const results = await resultsOf(await asked);
      expect(results.size).toBe(count);
      const after = await controls();
      for (const index of bmcs.addresses.keys()) {
        const { value, error } = results.get(`n${index + 1}`)!;
        const commands = after[index]! - before[index]!;
        if (error === undefined) {
          expect([value, commands]).toEqual([{ power: 'on' }, 1]);
        } else {
          expect(commands).toBeLessThanOrEqual(1);
          maybe++;
          expect(error).toMatch(/^the worker sn1 was lost while it did rpower on this node, so that may have happened/);
          expect(error).toContain(`Look with GET /nodes/n${index + 1}/power`);
        }
      }
      await cluster.listed('sn1', ({ state }) => state === 'gone');
    }
    expect(maybe).toBeGreaterThan(0);
  },
);

test('what a paused worker did not begin, the next one does, and it does nothing when it wakes up', async () => {
  const { server } = cluster;
  await server.ok('PUT', '/nodes/all/power', { action: 'off' });
  const worker = await cluster.worker('sn1');
  const before = await controls();
  worker.child.kill('SIGSTOP');
  const reply = await server.call('PUT', '/nodes/all/power', { body: { action: 'on' } });
  expect(reply.status).toBe(200);
  const once = before.map((commands) => commands + 1);
  expect(await controls()).toEqual(once);
  worker.child.kill('SIGCONT');
  // Another job after those that it slept through: they are over by then.
  await cluster.listed('sn1', ({ state }) => state === 'connected');
  await server.ok('GET', '/nodes/all/power');
  expect(await controls()).toEqual(once);
  await worker.stop();
});

test('a worker that is stopped in the middle finishes what it has begun', async () => {
  const { server } = cluster;
  await server.ok('PUT', '/nodes/all/power', { action: 'off' });
  const worker = await cluster.worker('sn1');
  const before = await controls();
  const asked = server.call('PUT', '/nodes/all/power', { body: { action: 'on' } });
  while ((await bmcs.poweredOn()) === 0);
  await worker.stop();
  expect([worker.child.exitCode, (await asked).status]).toEqual([0, 200]);
  expect(await controls()).toEqual(before.map((commands) => commands + 1));
});

test('NATS that is killed and started in the middle costs nothing', async () => {
  const { server, nats } = cluster;
  await server.ok('PUT', '/nodes/all/power', { action: 'off' });
  const worker = await cluster.worker('sn1');
  const before = await controls();
  const asked = server.call('PUT', '/nodes/all/power', { body: { action: 'on' } });
  while ((await bmcs.poweredOn()) === 0);
  await nats.kill();
  await nats.start();
  expect((await asked).status).toBe(200);
  expect(await controls()).toEqual(before.map((commands) => commands + 1));
  await worker.stop();
});

test('readings of a worker that is killed are made again', async () => {
  const { server } = cluster;
  const worker = await cluster.worker('sn1');
  const { openSessions } = await bmcs.state(7);
  const asked = server.call('GET', '/nodes/all/power');
  while ((await bmcs.state(7)).openSessions === openSessions);
  await worker.kill();
  const reply = await asked;
  expect(reply.status).toBe(200);
  expect(Object.keys(reply.json)).toHaveLength(count);
});
