import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeName } from './cluster.ts';
import { clientCore, processorTime, run, serverCore, start } from './process.ts';
import { atLeast, type Benchmark, compare, median } from './report.ts';
import { newDirectory, password, root, startMusterWith } from './server.ts';

const nodes = 10_000;
/** Many short rounds in turn: whatever else the machine does meets all alike. */
const rounds = 15;
/** Rounds that do not count: the engine takes its time to compile what runs often. */
const warmUps = 6;
const seconds = 1;
const connections = 16;
const path = `${root}/nodes/${nodeName(1)}`;

interface Rate {
  /** Requests per second. */
  readonly wall: number;
  /** Requests per second of the server's processor time. */
  readonly processor: number;
}

/** What a server reaches when wrk on the other core asks as fast as it can. */
async function rate(pid: number, url: string, headers: readonly string[]): Promise<Rate> {
  const before = processorTime(pid);
  const options = ['-t1', `-c${connections}`, `-d${seconds}s`, ...headers.flatMap((header) => ['-H', header])];
  const output = await run(['wrk', ...options, url], { core: clientCore });
  if (output.includes('Non-2xx')) throw new Error(`${url}: not every reply was a success.\n${output}`);
  const wall = Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]);
  const count = Number(/(\d+) requests in/.exec(output)?.[1]);
  return { wall, processor: (count / (processorTime(pid) - before)) * 1000 };
}

/** How many requests for one node a second are answered, against a bare fastify route that returns the same bytes. */
export const single: Benchmark = {
  name: 'single',
  async *rows() {
    const muster = await startMusterWith(nodes);
    const client = await muster.connect();
    const file = join(newDirectory(), 'body');
    writeFileSync(file, (await client.expect({ path })).body!);
    client.close();
    const floorCommand = [process.execPath, join(import.meta.dirname, 'floor-fastify.ts'), file];
    const floor = await start([...floorCommand, join(muster.data, 'tls')], { core: serverCore, ready: /ready (\d+)/ });
    const url = `https://127.0.0.1:${muster.port}${path}`;
    const rates = { floor: [] as Rate[], token: [] as Rate[], password: [] as Rate[] };
    for (let round = -warmUps; round < rounds; round++) {
      const bare = await rate(floor.pid, `https://127.0.0.1:${floor.ready[1]}/body`, []);
      const byToken = await rate(muster.pid, url, [`X-Auth-Token: ${muster.token}`]);
      const byPassword = await rate(muster.pid, `${url}?userName=root&userPW=${password}`, []);
      if (round < 0) continue;
      rates.floor.push(bare);
      rates.token.push(byToken);
      rates.password.push(byPassword);
    }
    await Promise.all([muster.stop(), floor.stop()]);
    const wall = (list: readonly Rate[]): number => median(list.map((each) => each.wall));
    const processor = (list: readonly Rate[]): number => median(list.map((each) => each.processor));
    const { floor: bare, token, password: pair } = rates;
    yield compare('GET one node with a token', wall(token), wall(bare), '/s', atLeast(0.5), 'fastify');
    yield compare('  per second of server CPU', processor(token), processor(bare), '/s', undefined, 'fastify');
    yield compare('GET one node with userName/userPW', wall(pair), wall(bare), '/s', atLeast(0.5), 'fastify');
    yield compare('  per second of server CPU', processor(pair), processor(bare), '/s', undefined, 'fastify');
  },
};
