import { setTimeout as pause } from 'node:timers/promises';
import { allWorkers, type NetworkedCluster, startNetworkedCluster } from '../test/bus/networks.ts';
import { Random } from '../test/process/random.ts';
import {
  newRecord,
  PowerClient,
  readNode,
  type Record,
  type Surroundings,
  writer,
  writtenAttribute,
} from './chaos-clients.ts';
import { Faults } from './chaos-faults.ts';
import { violationsOf } from './chaos-history.ts';
import { bindTo, clientCore } from './process.ts';
import { atMost, type Benchmark, type Row } from './report.ts';

const minutes = Number(process.env['MUSTER_CHAOS_MINUTES'] ?? 10);
const seed = Number(process.env['MUSTER_CHAOS_SEED'] ?? Date.now() % 1_000_000);

const [serverCount, workerCount] = [3, 4];
const writers = 6;
const powerClients = 4;
const bmcsOfEach = 10;
const writtenNodes = Array.from({ length: 8 }, (_, index) => `w${index + 1}`);

/** All servers are well again, and show the same. */
async function agree({ servers }: NetworkedCluster, token: string): Promise<string[]> {
  const ask = (index: number, path: string) => servers[index]!.server.client.call('GET', path, { token });
  for (const index of servers.keys()) while ((await ask(index, '/health')).status !== 200) await pause(200);
  await Promise.all(servers.map(({ server }) => allWorkers(server, workerCount, token)));
  // The status of nodes is followed without revisions.
  for (let tries = 0; ; tries++) {
    const [first, ...others] = await Promise.all(servers.map((_, index) => ask(index, '/nodes/ALLRESOURCES')));
    if (others.every(({ text }) => text === first!.text)) return [];
    if (tries > 100) return ['the servers show different nodes at the end'];
    await pause(200);
  }
}

async function disturbed(cluster: NetworkedCluster): Promise<{ record: Record; faults: Faults }> {
  const [{ server }] = cluster.servers as [(typeof cluster.servers)[0]];
  await server.ok('POST', `/nodes/${writtenNodes.join()}`, { groups: 'written', [writtenAttribute]: '' });
  const record = newRecord();
  const faults = new Faults(cluster, new Random(seed));
  const over = new AbortController();
  const by: Surroundings = { cluster, token: server.token, record, faults, signal: over.signal };
  const randomOf = (client: number): Random => new Random(seed + client);
  const working = [
    ...Array.from({ length: writers }, (_, i) => writer(by, randomOf(1 + i), `c${i + 1}`, writtenNodes)),
    ...Array.from({ length: powerClients }, (_, i) => {
      const bmcs = Array.from({ length: bmcsOfEach }, (__, j) => i * bmcsOfEach + j);
      return new PowerClient(by, randomOf(100 + i), bmcs).run();
    }),
    faults.run(over.signal),
  ];
  await Promise.race([pause(minutes * 60_000), Promise.all(working)]);
  over.abort();
  await Promise.all(working);
  record.violations.push(...(await agree(cluster, server.token)));
  const latest = Math.max(...record.writes.map(({ revision = 0 }) => revision));
  for (const node of writtenNodes)
    for (let turn = 0; turn < 6; turn++) await readNode(by, randomOf(turn), node, latest);
  record.violations.push(...violationsOf(record.writes, record.reads));
  return { record, faults };
}

function* rowsOf({ writes, reads, power, violations }: Record, faults: Faults): Generator<Row> {
  const row = (what: string, count: number | string): Row => ({
    what,
    muster: String(count),
    floor: '',
    ratio: undefined,
    bar: undefined,
  });
  yield row(`chaos for ${minutes} minutes, MUSTER_CHAOS_SEED`, seed);
  for (const [what, count] of [...faults.counts].toSorted(([a], [b]) => a.localeCompare(b)))
    yield row(`  fault: ${what}`, count);
  for (const [outcome, of] of Map.groupBy(writes, (write) => write.outcome))
    yield row(`  writes: ${outcome}`, of.length);
  yield row('  values read and checked', reads.length);
  for (const [what, count] of Object.entries(power)) yield row(`  power: ${what}`, count);
  for (const violation of violations) console.error(`violation: ${violation}`);
  yield {
    ...row('violations of what servers acknowledged', violations.length),
    ratio: violations.length,
    bar: atMost(0),
  };
}

/** Three servers and four workers, of which always something is broken. */
export const chaos: Benchmark = {
  name: 'chaos',
  takesLong: true,
  async *rows() {
    await bindTo(undefined);
    const cluster = await startNetworkedCluster({
      servers: serverCount,
      workers: workerCount,
      bmcs: powerClients * bmcsOfEach,
      delayStep: 5,
    });
    try {
      const { record, faults } = await disturbed(cluster);
      yield* rowsOf(record, faults);
    } finally {
      await cluster.remove();
      await bindTo(clientCore);
    }
  },
};
