import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Ended, ended, muster } from '../harness/muster-command.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { labAccounts } from '../lab/addresses.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';
import { freePort, type Nats, startNats } from '../lab/nats.ts';
import { makeNewerBuild, type NewerBuild, newerVersion } from '../lab/newer-build.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';
import { isReady, joinedData, launchWorker, type Listed, makeBusFiles, type TestWorker } from './cluster.ts';
import { allWorkers } from './networks.ts';

const host = '127.0.0.1';
const names = ['sn1', 'sn2'] as const;
const data = temporaryDirectory();
let postgres: Postgres;
let nats: Nats;
let bmcs: LightLab;
let newer: NewerBuild;
let ports: number[];
let environment: Record<string, string>;
let servers: TestServer[] = [];
let workers: TestWorker[] = [];

const startAt = (index: number, directory: string, main?: string): Promise<TestServer> =>
  startServer({
    data: directory,
    environment,
    listen: [`${host}:${ports[index]}`],
    ...(main !== undefined && { main }),
  });

async function workerOf(name: string, main?: string): Promise<TestWorker> {
  const worker = launchWorker(name, data, { environment, ...(main !== undefined && { main }) });
  await isReady(worker);
  return worker;
}

beforeAll(async () => {
  const busPort = await freePort(host);
  ports = [await freePort(host), await freePort(host)];
  newer = makeNewerBuild();
  [postgres, nats, bmcs] = await Promise.all([
    makePostgres('muster'),
    makeBusFiles(data, `${host}:${busPort}`, names).then((configuration) => startNats(configuration, host, busPort)),
    startLightBmcs({ count: 4, prefix: '127.158' }),
  ]);
  environment = { MUSTER_DATABASE: postgres.url, MUSTER_BUS_SERVERS: nats.url };
  const first = await startAt(0, data);
  servers = [first, await startAt(1, joinedData(data))];
  workers = await Promise.all(names.map((name) => workerOf(name)));
  const { username, password } = labAccounts.administrator;
  await first.ok('POST', '/definitions', {
    definitions: bmcs.addresses.map((bmc, index) => ({
      type: 'node',
      names: `n${index + 1}`,
      attributes: {
        groups: 'all',
        mgt: 'ipmi',
        bmc,
        bmcusername: username,
        bmcpassword: password,
        servicenode: names[index % 2]!,
      },
    })),
  });
  await Promise.all(servers.map((server) => allWorkers(server, names.length)));
}, 120_000);
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.kill()));
  await Promise.all(servers.map((server) => server.kill()));
  await Promise.all([bmcs?.stop(), nats?.remove(), postgres?.remove()]);
  newer?.remove();
  for (const directory of [data, ...servers.map((server) => server.data)])
    rmSync(directory, { recursive: true, force: true });
});

/** Commands as people give them, one after another, until it is told to end. Answers those that failed. */
async function commands(over: AbortSignal): Promise<{ count: number; failed: (readonly [string, Ended])[] }> {
  const env = {
    HOME: data,
    MUSTER_URL: ports.map((port) => `https://${host}:${port}`).join(),
    MUSTER_TOKEN: servers[0]!.token,
    MUSTER_CA: join(data, 'tls/ca.pem'),
  };
  const failed: (readonly [string, Ended])[] = [];
  let count = 0;
  for (; !over.aborted; count++) {
    const lines = [
      `chdef n1 usercomment=c${count}`,
      `lsdef n1 -i usercomment`,
      `rpower all ${count % 8 < 4 ? 'on' : 'off'}`,
      'rpower all stat',
    ];
    const line = lines[count % lines.length]!;
    const outcome = await ended(muster, line.split(' '), env);
    if (outcome.code !== 0) failed.push([line, outcome]);
  }
  return { count, failed };
}

const listed = async (server: TestServer): Promise<Listed[]> => (await server.ok('GET', '/servers')).servers;

test('servers and workers are replaced by another version one after another, and no command fails', {
  timeout: 240_000,
}, async () => {
  const over = new AbortController();
  const working = commands(over.signal);
  const [first, second] = servers as [TestServer, TestServer];
  await first.stop();
  servers[0] = await startAt(0, first.data, newer.main);
  // The other one refuses to write with a sentence, and shows what it knew.
  const refused = await second.call('PUT', '/nodes/n2', { body: { rack: 'r1' } });
  expect([refused.status, refused.headers['x-muster-done'], refused.json.error[0]]).toEqual([
    503,
    'nothing',
    expect.stringMatching(/^Another version of muster has changed the form of the database/),
  ]);
  expect((await second.call('GET', '/nodes/n2')).status).toBe(200);
  expect((await second.call('GET', '/health')).status).toBe(503);
  // A server that has just started hears of workers within seconds.
  await expect
    .poll(async () => (await listed(servers[0]!)).at(2)?.problem)
    .toContain(`this server runs ${newerVersion}: it gets no work. Install ${newerVersion} there.`);
  await second.stop();
  servers[1] = await startAt(1, second.data, newer.main);
  for (const [index, name] of names.entries()) {
    await workers[index]!.stop();
    workers[index] = await workerOf(name, newer.main);
  }
  await Promise.all(servers.map((server) => allWorkers(server, names.length)));
  over.abort();
  const { count, failed } = await working;
  expect(failed).toEqual([]);
  expect(count).toBeGreaterThan(4);
  expect(new Set((await listed(servers[0])).map(({ version }) => version))).toEqual(new Set([newerVersion]));
  const older = await startAt(1, joinedData(data)).catch((error: Error) => error.message);
  expect(older).toMatch(/The database was written by a newer muster \(it has the step 9999-newer\)/);
});
