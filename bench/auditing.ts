import { setTimeout as wait } from 'node:timers/promises';
import { nodeName } from './cluster.ts';
import { processorTime } from './process.ts';
import { atMost, type Benchmark, compare, median } from './report.ts';
import { type Muster, root, startMusterWith } from './server.ts';

const nodes = 1_000;
const rounds = 12;
const connections = 8;
const requestsPerRound = 8_000;
/** Records of reads reach the disk within a second; what that costs must be counted too. */
const settle = 1_200;

/** Runs the requests over all connections and returns the server's processor microseconds for each. */
async function costOfGet(muster: Muster, count: number): Promise<number> {
  const before = processorTime(muster.pid);
  let left = count;
  const path = `${root}/nodes/${nodeName(1)}`;
  const ask = async (): Promise<void> => {
    const connection = await muster.connect();
    while (left-- > 0) await connection.send({ path });
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, ask));
  await wait(settle);
  return ((processorTime(muster.pid) - before) / count) * 1000;
}

/** What recording every read in the audit log costs. */
export const auditing: Benchmark = {
  name: 'auditing',
  async *rows() {
    const audited = await startMusterWith(nodes);
    const silent = await startMusterWith(nodes, { env: { MUSTER_AUDIT: 'false' } });
    const costs = { audited: [] as number[], silent: [] as number[] };
    for (const muster of [audited, silent]) await costOfGet(muster, 2 * requestsPerRound);
    for (let round = 0; round < rounds; round++) {
      costs.audited.push(await costOfGet(audited, requestsPerRound));
      costs.silent.push(await costOfGet(silent, requestsPerRound));
    }
    await Promise.all([audited.stop(), silent.stop()]);
    const [on, off] = [median(costs.audited), median(costs.silent)];
    yield compare('GET one node with auditing, server CPU', on, off, 'us', atMost(1.05), 'without');
  },
};
