import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type BusCluster, startBusCluster, type TestWorker } from '../test/bus/cluster.ts';
import { startLightBmcs } from '../test/lab/light-bmc.ts';
import { Connection } from './client.ts';
import { bindTo, clientCore, memory, processorTime, start } from './process.ts';
import { atMost, type Benchmark, compare, figure, median, type Row } from './report.ts';
import { root, startMuster } from './server.ts';
import { askPower, type Cost, type OwnCost, putNodes, slowSimulators } from './service-processors.ts';
import { type NodeCosts, simulate } from './workers-simulation.ts';

const count = 10_000;
const workers = ['sn1', 'sn2', 'sn3', 'sn4'];
const allowed = 400;
/** The first one, for which no session is open, is shown apart. */
const rounds = 6;
const idleCount = 1_000;
const idlePrefix = 'idle';
/** Milliseconds until all of them are connected, and that they are watched. */
const settle = 15_000;
const watched = 20_000;
/** Microseconds that a BMC takes to answer, for the simulation. */
const answer = 50_000;

/** Gives each worker a quarter of the nodes, and another one as its deputy. */
async function assign(connection: Connection): Promise<void> {
  const share = count / workers.length;
  for (const [i, name] of workers.entries()) {
    const range = `bmc[${i * share + 1}-${(i + 1) * share}]`;
    const body = { servicenode: `${name},${workers[(i + 1) % workers.length]}` };
    await connection.expect({ method: 'PUT', path: `${root}/nodes/${range}`, body });
  }
}

interface Measured {
  readonly direct: readonly Cost[];
  readonly divided: readonly OwnCost[];
  /** Of the server whose workers do the work, in MiB. */
  readonly highest: number;
}

/** By turns, so that both meet the same machine. */
async function measure({ server, nats }: BusCluster, started: readonly TestWorker[]): Promise<Measured> {
  const muster = await startMuster({ env: slowSimulators, allCores: true });
  const [one, several] = [await muster.connect(), await Connection.open(server.port, server.token)];
  const bmcs = await startLightBmcs({ count, prefix: '127.78' });
  for (const connection of [one, several]) await putNodes(connection, 'bmc', 'ipmi', bmcs.addresses);
  await assign(several);
  const processes = [server.child, nats.process(), ...started.map(({ child }) => child)];
  const [direct, divided]: [Cost[], OwnCost[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    direct.push(await askPower([muster], one, 'bmc', count));
    divided.push(await askPower(processes, several, 'bmc', count));
  }
  const { highest } = memory(server.child.pid!);
  for (const connection of [one, several]) connection.close();
  await Promise.all([muster.stop(), bmcs.stop()]);
  return { direct, divided, highest };
}

function* measuredRows({ direct, divided, highest }: Measured): Iterable<Row> {
  const each = (costs: readonly Cost[]): number => median(costs.map(({ processor }) => processor));
  const wall = (costs: readonly Cost[]): string => `${figure(median(costs.map((cost) => cost.wall)))} ms`;
  for (const [what, from, to] of [['no session open', 0, 1] as const, ['sessions open', 1, rounds] as const]) {
    const [own, floor] = [divided.slice(from, to), direct.slice(from, to)];
    const name = `Power of 10,000 BMCs by four workers, ${what}: CPU each`;
    yield compare(name, each(own), each(floor), 'us', atMost(1.4), 'one process');
    yield orientation('  wall', wall(own), wall(floor));
    const { server, nats, worker } = costsOf(own);
    const shares = [server, nats, worker].map((share) => figure(share)).join(' / ');
    yield orientation('  of it server / NATS / workers', `${shares} us`);
  }
  yield compare('  highest memory of the server', highest, allowed, 'MiB', atMost(1), 'allowed');
}

function costsOf(costs: readonly OwnCost[]): NodeCosts {
  const part = (of: (parts: readonly number[]) => number): number => median(costs.map(({ parts }) => of(parts)));
  const ofWorkers = ([, , ...others]: readonly number[]): number => others.reduce((sum, each) => sum + each, 0);
  return { server: part(([first]) => first!), nats: part(([, second]) => second!), worker: part(ofWorkers), answer };
}

/** What many workers cost that only say that they are there: percent of a core. */
async function idleCosts(
  { server, nats, listed }: BusCluster,
  name: string,
): Promise<{ server: number; nats: number }> {
  const program = join(import.meta.dirname, 'idle-workers.ts');
  const command = [process.execPath, program, server.data, nats.url, idlePrefix, String(idleCount)];
  const idle = await start(command, { ready: /ready/ });
  await listed(name, ({ state }) => state === 'connected');
  await pause(settle);
  const times = (): number[] => [server.child, nats.process()].map(({ pid }) => processorTime(pid!));
  const before = times();
  await pause(watched);
  const [ofServer, ofNats] = times().map((time, i) => (100 * (time - before[i]!)) / watched);
  await idle.stop();
  return { server: ofServer!, nats: ofNats! };
}

function* simulatedRows(costs: NodeCosts): Iterable<Row> {
  for (const nodes of [10_000, 100_000, 1_000_000]) {
    const { elapsed, busy } = simulate(nodes, nodes / 1_000, costs);
    const percent = Object.entries(busy).map(([name, share]) => `${name} ${Math.round(100 * share)} %`);
    const what = `Simulated: power of ${nodes.toLocaleString('en-US')} BMCs by ${nodes / 1_000} workers`;
    yield orientation(what, `${figure(elapsed)} s`, percent.join(', '));
  }
}

const orientation = (what: string, muster: string, floor = ''): Row => ({
  what,
  muster,
  floor,
  ratio: undefined,
  bar: undefined,
});

/** What it costs all processes together, NATS too, that workers do the work, against one server that does it alone. */
export const powerWorkers: Benchmark = {
  name: 'power-workers',
  async *rows() {
    // Six programs that work together, and two cores.
    await bindTo(undefined);
    const idle = Array.from({ length: idleCount }, (_, i) => `${idlePrefix}${i + 1}`);
    const cluster = await startBusCluster([...workers, ...idle], slowSimulators);
    try {
      const started: TestWorker[] = [];
      for (const name of workers) started.push(await cluster.worker(name));
      const measured = await measure(cluster, started);
      yield* measuredRows(measured);
      const { server, nats } = await idleCosts(cluster, idle.at(-1)!);
      const what = `${idleCount.toLocaleString('en-US')} workers without work: server / NATS`;
      yield orientation(what, `${figure(server)} / ${figure(nats)} % of a core`);
      yield* simulatedRows(costsOf(measured.divided.slice(1)));
    } finally {
      await cluster.remove();
      await bindTo(clientCore);
    }
  },
};
