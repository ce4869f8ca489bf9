import { join } from 'node:path';
import { Connection } from './client.ts';
import { nodeName } from './cluster.ts';
import { startNginx } from './nginx.ts';
import { processorTime } from './process.ts';
import { atMost, type Benchmark, compare, median } from './report.ts';
import { root, startMusterWith } from './server.ts';

const nodes = 10_000;
const rounds = 15;
const requestsPerRound = 10;
const path = `${root}/nodes/ALLRESOURCES`;

/** Processor milliseconds of the server per call of `work`. */
async function cost(pid: number, times: number, work: (i: number) => Promise<unknown>): Promise<number> {
  const before = processorTime(pid);
  for (let i = 0; i < times; i++) await work(i);
  return (processorTime(pid) - before) / times;
}

let serial = 0;
const changeOne = (connection: Connection): Promise<unknown> => {
  serial++;
  const one = `${root}/nodes/${nodeName(1 + ((serial * 7919) % nodes))}`;
  return connection.expect({ method: 'PUT', path: one, body: { serial: `S${serial}` } });
};

/** What the full listing costs the server, against nginx serving the same bytes as a file. */
export const listing: Benchmark = {
  name: 'listing',
  async *rows() {
    const muster = await startMusterWith(nodes);
    const client = await muster.connect();
    const { body } = await client.expect({ path });
    const nginx = await startNginx(body!, join(muster.data, 'tls'));
    const peer = await Connection.open(nginx.port);
    if (peer.cipher !== client.cipher) throw new Error(`Different ciphers: ${peer.cipher} and ${client.cipher}.`);
    const costs = { nginx: [] as number[], same: [] as number[], changed: [] as number[], put: [] as number[] };
    for (let round = 0; round < rounds; round++) {
      costs.nginx.push(await cost(nginx.pid, requestsPerRound, () => peer.send({ path: '/body' })));
      costs.same.push(await cost(muster.pid, requestsPerRound, () => client.send({ path })));
      costs.put.push(await cost(muster.pid, requestsPerRound, () => changeOne(client)));
      costs.changed.push(
        await cost(muster.pid, requestsPerRound, async () => {
          await changeOne(client);
          await client.send({ path });
        }),
      );
    }
    client.close();
    peer.close();
    await Promise.all([muster.stop(), nginx.stop()]);
    const floor = median(costs.nginx);
    const size = `${nodes.toLocaleString('en-US')} nodes, ${(body!.length / 1e6).toFixed(1)} MB`;
    yield compare(`GET all (${size}), server CPU`, median(costs.same), floor, 'ms', atMost(4), 'nginx');
    yield compare('PUT one node, GET all, server CPU of both', median(costs.changed), floor, 'ms', atMost(6), 'nginx');
    const getOnly = median(costs.changed.map((both, i) => both - costs.put[i]!));
    yield compare('  the same without the CPU of the PUT', getOnly, floor, 'ms', undefined, 'nginx');
  },
};
