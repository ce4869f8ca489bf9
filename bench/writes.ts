import { join } from 'node:path';
import type { Connection } from './client.ts';
import { nodeName, nodeRange } from './cluster.ts';
import { processorTime, run, serverCore } from './process.ts';
import { atLeast, atMost, type Benchmark, compare, figure, median, type Row } from './report.ts';
import { type Muster, newDirectory, root, startMusterWith } from './server.ts';
import { watchedSyncs } from './syncs.ts';

const rounds = 15;
/** Requests before anything counts, so that what is measured is a server that has been running for a while. */
const warmUps = 40;
const concurrent = 1_000;
const slowSync = 5;

interface Floor {
  readonly together: number[];
  readonly each: number[];
}

async function floor(together: number, each: number, env: Readonly<Record<string, string>> = {}): Promise<Floor> {
  const file = join(newDirectory(), 'floor.sqlite');
  const script = join(import.meta.dirname, 'floor-write.ts');
  const output = await run([process.execPath, script, file, String(together), String(each)], { core: serverCore, env });
  return JSON.parse(output) as Floor;
}

let serial = 0;
const change = (connection: Connection, range: string) =>
  connection.expect({ method: 'PUT', path: `${root}/nodes/${range}`, body: { os: `os${++serial}` } });

async function* bulkRow(): AsyncIterable<Row> {
  const muster = await startMusterWith(10_000);
  const client = await muster.connect();
  const times = { muster: [] as number[], floor: [] as number[] };
  for (let i = 0; i < warmUps; i++) await change(client, nodeRange(1, 1_000));
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < 3; i++) times.muster.push((await change(client, nodeRange(1, 1_000))).took);
    times.floor.push(...(await floor(warmUps + 3, 0)).together.slice(warmUps));
  }
  client.close();
  await muster.stop();
  const name = 'one transaction';
  yield compare(
    'PUT of one attribute on 1,000 nodes',
    median(times.muster),
    median(times.floor),
    'ms',
    atMost(5),
    name,
  );
}

/** Milliseconds until 1,000 PUTs, all sent at once on as many connections, are answered. */
async function concurrentPuts(connections: readonly Connection[]): Promise<number> {
  const began = performance.now();
  await Promise.all(connections.map((connection, i) => change(connection, nodeName(i + 1))));
  return performance.now() - began;
}

async function openAll(muster: Muster): Promise<Connection[]> {
  const connections: Connection[] = [];
  while (connections.length < concurrent) {
    connections.push(...(await Promise.all(Array.from({ length: 50 }, () => muster.connect()))));
  }
  return connections;
}

async function* concurrentRows(delay: number, times: number): AsyncIterable<Row> {
  const watched = await watchedSyncs(delay);
  const muster = await startMusterWith(10_000, { env: watched.env });
  const connections = await openAll(muster);
  for (let i = 0; i < warmUps / 10; i++) await concurrentPuts(connections);
  const taken: number[] = [];
  const syncs: number[] = [];
  for (let round = 0; round < times; round++) {
    const before = watched.count();
    taken.push(await concurrentPuts(connections));
    syncs.push(watched.count() - before);
  }
  for (const connection of connections) connection.close();
  await muster.stop();
  const { env } = await watchedSyncs(delay);
  const each = median((await floor(0, delay === 0 ? 5 : 1, env)).each);
  const disk = delay === 0 ? "this machine's disk" : `a disk with syncs of ${delay} ms`;
  const [puts, used] = [median(taken), median(syncs)];
  yield {
    // A virtual disk that syncs in a fraction of a millisecond shows nothing about disks.
    ...compare(
      `1,000 concurrent PUTs, ${disk}`,
      puts,
      each,
      'ms',
      delay === 0 ? undefined : atLeast(10),
      '1,000 syncs',
    ),
    ratio: each / puts,
  };
  yield { what: '  syncs they took', muster: figure(used), floor: '1,000', ratio: 1_000 / used, bar: undefined };
}

async function* sizeRows(): AsyncIterable<Row> {
  const small = await startMusterWith(100);
  const big = await startMusterWith(100_000);
  const servers = [small, big];
  const clients = await Promise.all(servers.map((muster) => muster.connect()));
  const wall: number[][] = [[], []];
  const processor: number[][] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    for (const [i, client] of clients.entries()) {
      const before = processorTime(servers[i]!.pid);
      const taken: number[] = [];
      for (let j = 0; j < 40; j++) taken.push((await change(client, nodeName(1 + ((serial * 37) % 100)))).took);
      if (round === 0) continue;
      processor[i]!.push((processorTime(servers[i]!.pid) - before) / 40);
      wall[i]!.push(median(taken));
    }
  }
  for (const client of clients) client.close();
  await Promise.all(servers.map((muster) => muster.stop()));
  const [smallWall, bigWall] = wall.map(median) as [number, number];
  const [smallCpu, bigCpu] = processor.map(median) as [number, number];
  yield compare('PUT on one node of 100,000', bigWall, smallWall, 'ms', atMost(1.5), 'of 100');
  yield compare('  server CPU', bigCpu, smallCpu, 'ms', undefined, 'of 100');
}

/** What writes cost, against the least a durable write can. */
export const writes: Benchmark = {
  name: 'writes',
  async *rows() {
    yield* bulkRow();
    yield* concurrentRows(0, 5);
    yield* concurrentRows(slowSync, 3);
    yield* sizeRows();
  },
};
