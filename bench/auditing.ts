import { setTimeout as wait } from 'node:timers/promises';
import type { Connection } from './client.ts';
import { nodeName } from './cluster.ts';
import { processorTime } from './process.ts';
import { atMost, type Benchmark, compare, median } from './report.ts';
import { type Muster, root, startMusterWith } from './server.ts';

const nodes = 1_000;
const rounds = 20;
const connections = 8;
/** The servers take turns so often that whatever else the machine does meets both alike. */
const turns = 20;
const requestsPerTurn = 200;
const requestsPerRound = turns * requestsPerTurn;
/** Records of reads reach the disk within a second; what that costs must be counted too. */
const settle = 1_100;

interface Subject {
  readonly muster: Muster;
  readonly clients: readonly Connection[];
  /** Processor microseconds per GET, one for each round. */
  readonly costs: number[];
}

async function start(audit: boolean): Promise<Subject> {
  const muster = await startMusterWith(nodes, { env: { MUSTER_AUDIT: String(audit) } });
  const clients = await Promise.all(Array.from({ length: connections }, () => muster.connect()));
  return { muster, clients, costs: [] };
}

async function askMany({ clients }: Subject, count: number): Promise<void> {
  let left = count;
  const ask = async (client: Connection): Promise<void> => {
    while (left > 0) {
      left--;
      await client.send({ path: `${root}/nodes/${nodeName(1 + (left % nodes))}` });
    }
  };
  await Promise.all(clients.map(ask));
}

/** Both servers are asked in turns; then they get time to write what they still hold. */
async function round(subjects: readonly Subject[]): Promise<void> {
  const before = subjects.map(({ muster }) => processorTime(muster.pid));
  for (let turn = 0; turn < turns; turn++) {
    for (const subject of subjects) await askMany(subject, requestsPerTurn);
  }
  await wait(settle);
  for (const [i, { muster, costs }] of subjects.entries()) {
    costs.push(((processorTime(muster.pid) - before[i]!) / requestsPerRound) * 1000);
  }
}

/** What recording every read in the audit log costs. */
export const auditing: Benchmark = {
  name: 'auditing',
  async *rows() {
    const [audited, silent] = [await start(true), await start(false)];
    for (const subject of [audited, silent]) await askMany(subject, 10 * requestsPerRound);
    for (let i = 0; i < rounds; i++) await round(i % 2 === 0 ? [audited, silent] : [silent, audited]);
    for (const { muster, clients } of [audited, silent]) {
      for (const client of clients) client.close();
      await muster.stop();
    }
    const [on, off] = [median(audited.costs), median(silent.costs)];
    yield compare('GET one node with auditing, server CPU', on, off, 'us', atMost(1.05), 'without');
  },
};
