import { setTimeout as wait } from 'node:timers/promises';
import type { Call, Connection } from './client.ts';
import { nodeName } from './cluster.ts';
import { longestDelay, watchDelays } from './delays.ts';
import { memory, processorTime } from './process.ts';
import { atMost, type Bar, type Benchmark, compare, figure, median, type Row } from './report.ts';
import { dataWith, type Muster, root, startMuster } from './server.ts';

const sizes = [10_000, 1_000_000] as const;
/** Milliseconds for which nobody else may have to wait. */
const longestFreeze = 100;
const rounds = 15;
const requestsPerRound = 100;

interface Cluster {
  readonly size: number;
  readonly muster: Muster;
  readonly client: Connection;
}

/** A server with so many nodes, when it has done all that it does after a start. */
async function startedWith(size: number): Promise<Muster> {
  const data = await dataWith(size);
  // The first start on data that were there looks through the logs, once.
  await (await startMuster({ data, allCores: true })).stop();
  const muster = await startMuster({ data, node: watchDelays, allCores: true });
  for (let before = 0, now = 1_000; now - before > 50; ) {
    before = processorTime(muster.pid);
    await wait(1_000);
    now = processorTime(muster.pid);
  }
  return muster;
}

/** Any of the nodes, each time another one from all over the cluster. */
const someNode = (size: number, number: number): string => `${root}/nodes/${nodeName(((number * 7_919) % size) + 1)}`;

interface Subject {
  readonly what: string;
  call(size: number, number: number): Call;
}

const ofOneNode: Subject[] = [
  { what: 'GET of one node', call: (size, number) => ({ path: someNode(size, number) }) },
  {
    what: 'PUT of one attribute of one node',
    call: (size, number) => ({ method: 'PUT', path: someNode(size, number), body: { rack: `q${number}` } }),
  },
  {
    what: 'PUT of the MAC address of one node',
    call: (size, number) => ({
      method: 'PUT',
      path: someNode(size, number),
      body: {
        mac: `02:00:00:00:${[number >> 8, number & 255].map((byte) => byte.toString(16).padStart(2, '0')).join(':')}`,
      },
    }),
  },
];

const ofAllNodes: Subject[] = [
  { what: 'GET of all names', call: () => ({ path: `${root}/nodes` }) },
  { what: 'GET of all nodes, the first', call: () => ({ path: `${root}/nodes/ALLRESOURCES` }) },
  { what: 'GET of all nodes again', call: () => ({ path: `${root}/nodes/ALLRESOURCES` }) },
  { what: 'search by an attribute', call: () => ({ path: `${root}/nodes/nodetype.arch==x86_64/nodels` }) },
];

interface Cost {
  /** Milliseconds of the server's processor time for one request. */
  readonly processor: number;
  readonly freeze: number;
}

async function costOf(
  { size, muster, client }: Cluster,
  { call }: Subject,
  from: number,
  count: number,
): Promise<Cost> {
  await longestDelay(muster);
  const before = processorTime(muster.pid);
  for (let number = from; number < from + count; number++) await client.expect(call(size, number));
  const processor = (processorTime(muster.pid) - before) / count;
  return { processor, freeze: await longestDelay(muster) };
}

/** Both in turn: whatever else the machine does meets both alike. The first round, in which the engine compiles, does not count. */
async function* rowsOfOne(clusters: readonly Cluster[], subject: Subject): AsyncIterable<Row> {
  const costs = clusters.map((): Cost[] => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [i, cluster] of clusters.entries()) {
      const cost = await costOf(cluster, subject, round * requestsPerRound, requestsPerRound);
      if (round > 0) costs[i]!.push(cost);
    }
  }
  const [few, many] = costs.map((list) => median(list.map(({ processor }) => processor))) as [number, number];
  yield compare(`${subject.what}, CPU`, many, few, 'ms', atMost(1.5), 'of 10,000');
  yield freezeRow(Math.max(...costs[1]!.map(({ freeze }) => freeze)), atMost(1));
}

const freezeRow = (freeze: number, bar?: Bar): Row =>
  compare('  longest delay of the event loop', freeze, longestFreeze, 'ms', bar);

/** What a hundred times the nodes cost: once as much for each node, or less. */
async function* rowsOfAll(clusters: readonly Cluster[], subject: Subject): AsyncIterable<Row> {
  const costs: Cost[] = [];
  for (const cluster of clusters) costs.push(await costOf(cluster, subject, 0, 1));
  const [few, many] = costs as [Cost, Cost];
  yield perNode(`${subject.what}, CPU`, many.processor, few.processor, 'ms');
  yield freezeRow(many.freeze);
}

/** The ratio is that of what it is for each node. */
function perNode(what: string, many: number, few: number, unit: string): Row {
  const [small, large] = sizes;
  const floor = `of 10,000 ${figure(few)} ${unit}`;
  return { what, muster: `${figure(many)} ${unit}`, floor, ratio: many / large / (few / small), bar: atMost(1.5) };
}

/** A cluster of 1,000,000 nodes beside one of 10,000. */
export const million: Benchmark = {
  name: 'million',
  takesLong: true,
  async *rows() {
    const servers: Muster[] = [];
    for (const size of sizes) servers.push(await startedWith(size));
    const clusters: Cluster[] = [];
    for (const [i, muster] of servers.entries())
      clusters.push({ size: sizes[i]!, muster, client: await muster.connect() });
    const [few, many] = clusters as [Cluster, Cluster];
    yield perNode('1,000,000 nodes: start', many.muster.readyAfter, few.muster.readyAfter, 'ms');
    const resident = clusters.map(({ muster }) => memory(muster.pid).resident) as [number, number];
    yield perNode('  resident after it', resident[1], resident[0], 'MiB');
    for (const subject of ofOneNode) yield* rowsOfOne(clusters, subject);
    for (const subject of ofAllNodes) yield* rowsOfAll(clusters, subject);
    yield perNode('highest memory', memory(many.muster.pid).highest, memory(few.muster.pid).highest, 'MiB');
    for (const { client, muster } of clusters) {
      client.close();
      await muster.stop();
    }
  },
};
