import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { slice } from '../src/rest/http/body-writer.ts';
import type { Connection } from './client.ts';
import { nodeName } from './cluster.ts';
import { longestDelay, watchDelays } from './delays.ts';
import { clientCore, memory, run } from './process.ts';
import { atMost, type Benchmark, compare, figure, median, quantile } from './report.ts';
import { dataWith, root, startMuster } from './server.ts';

const nodes = 100_000;
const starts = 5;
const latencySeconds = 8;

/** How long GET of one node takes, asked again and again with a short pause. */
async function latencies(connection: Connection): Promise<number[]> {
  const taken: number[] = [];
  for (const end = performance.now() + latencySeconds * 1000; performance.now() < end; ) {
    taken.push((await connection.send({ path: `${root}/nodes/${nodeName(1)}` })).took);
    await wait(1);
  }
  return taken;
}

/** A large cluster: how long starting takes, how much memory, and how much a listing in a loop holds others up. */
export const large: Benchmark = {
  name: 'large',
  async *rows() {
    const data = await dataWith(nodes);
    yield* startRows(data);
    const muster = await startMuster({ data, node: watchDelays });
    const loaded = memory(muster.pid);
    const client = await muster.connect();
    await client.expect({ path: `${root}/nodes/ALLRESOURCES` });
    await latencies(client);
    await longestDelay(muster);
    const idle = await latencies(client);
    const idleDelay = await longestDelay(muster);
    // The listing client runs only when the measuring one does not want the core.
    const options = ['-t1', '-c1', `-d${latencySeconds + 1}s`, '-H', `X-Auth-Token: ${muster.token}`];
    const url = `https://127.0.0.1:${muster.port}${root}/nodes/ALLRESOURCES`;
    const listings = run(['chrt', '-i', '0', 'wrk', ...options, url], { core: clientCore });
    await wait(500);
    const busy = await latencies(client);
    const listed = Number(/(\d+) requests in/.exec(await listings)?.[1]);
    const busyDelay = await longestDelay(muster);
    const after = memory(muster.pid);
    client.close();
    await muster.stop();
    const [idle99, busy99] = [quantile(idle, 0.99), quantile(busy, 0.99)];
    const allowed = 5 * idle99 + slice;
    yield compare(
      `p99 of GET one node while 100,000 are listed (${listed} times)`,
      busy99,
      allowed,
      'ms',
      atMost(1),
      `5 x ${figure(idle99)} + ${slice} =`,
    );
    yield compare('  longest delay of the event loop', busyDelay, idleDelay, 'ms', undefined, 'idle');
    yield compare('100,000 nodes in memory, resident after start', loaded.resident, 1024, 'MiB', atMost(1));
    yield compare('  resident after listing', after.resident, 1024, 'MiB', atMost(1));
    yield compare('  highest', after.highest, 1024, 'MiB', atMost(1));
  },
};

async function* startRows(data: string) {
  const times = { muster: [] as number[], reading: [] as number[], process: [] as number[] };
  const floor = [process.execPath, join(import.meta.dirname, 'floor-read.ts'), join(data, 'muster.sqlite')];
  for (let i = 0; i < starts; i++) {
    const began = performance.now();
    const output = await run(floor);
    times.process.push(performance.now() - began);
    times.reading.push((JSON.parse(output) as { milliseconds: number }).milliseconds);
    const muster = await startMuster({ data, allCores: true });
    times.muster.push(muster.readyAfter);
    await muster.stop();
  }
  const [start, reading, whole] = [median(times.muster), median(times.reading), median(times.process)];
  yield compare('100,000 nodes: start, from spawn to ready', start, reading, 'ms', atMost(3), 'bare reading');
  yield compare('  the reading with the start of its process', start, whole, 'ms', undefined, 'its process');
}
