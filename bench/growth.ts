import type { Call, Connection } from './client.ts';
import { definitions, nodeName, nodeRange } from './cluster.ts';
import { atMost, type Benchmark, figure, median, type Row } from './report.ts';
import { root, startMusterWith } from './server.ts';

const sizes = [100, 1_000, 5_000, 10_000, 100_000];
/** Below this, what a request costs at all outweighs what it costs per node. */
const smallest = 1_000;
/** Times vary from run to run; what grows with the square would miss this by far. */
const linear = atMost(1.5);
const rounds = 5;

interface Subject {
  readonly what: string;
  /** The request for a cluster of so many nodes, and how many nodes it is about; undefined: not for this size. */
  call(size: number, round: number): { call: Call; nodes: number } | undefined;
  /** Changes the cluster so that the other subjects would not find it as they expect: gets a cluster of its own, one round. */
  readonly once?: boolean;
}

const searched = (size: number, path: string): { call: Call; nodes: number } => ({
  call: { path: `${root}/nodes/${path}` },
  nodes: size,
});

const subjects: Subject[] = [
  {
    what: 'criterion search nodetype.arch==x86_64',
    call: (size) => searched(size, 'nodetype.arch==x86_64/nodels'),
  },
  { what: 'GET of arch, os and mac of all', call: (size) => searched(size, 'ALLRESOURCES/attrs/arch,os,mac') },
  {
    what: 'PUT groups of 269 nodes (of all in the smallest cluster)',
    call: (size, round) => {
      const nodes = Math.min(size, 269);
      const body = { groups: `compute,all,new${round}` };
      return { call: { method: 'PUT', path: `${root}/nodes/${nodeRange(1, nodes)}`, body }, nodes };
    },
  },
  {
    what: 'PUT groups of 5 % of the nodes',
    call: (size, round) => {
      const nodes = size / 20;
      const body = { groups: `compute,all,few${round}` };
      return { call: { method: 'PUT', path: `${root}/nodes/${nodeRange(1, nodes)}`, body }, nodes };
    },
  },
  {
    what: 'bulk PUT that changes every node (up to 20,000)',
    call: (size, round) => {
      const nodes = Math.min(size, 20_000);
      const body: Record<string, Record<string, string>> = {};
      for (let i = 1; i <= nodes; i++) body[nodeName(i)] = { serial: `S${round}-${i}`, rack: `q${round}` };
      return { call: { method: 'PUT', path: `${root}/nodes`, body }, nodes };
    },
  },
  {
    what: 'bulk PUT of new nodes, 15 attributes each (up to 10,000)',
    call: (size) => {
      const nodes = Math.min(size, 10_000);
      return { call: { method: 'PUT', path: `${root}/nodes`, body: definitions(size + 1, size + nodes) }, nodes };
    },
    once: true,
  },
  {
    what: 'DELETE of 1,000 nodes (of all in the smallest clusters)',
    call: (size) => {
      const nodes = Math.min(size, 1_000);
      return { call: { method: 'DELETE', path: `${root}/nodes/${nodeRange(1, nodes)}` }, nodes };
    },
    once: true,
  },
];

async function measure(client: Connection, subject: Subject, size: number): Promise<{ took: number; nodes: number }> {
  const taken: number[] = [];
  let nodes = 0;
  for (let round = 0; round < (subject.once ? 1 : rounds); round++) {
    const request = subject.call(size, round)!;
    nodes = request.nodes;
    taken.push((await client.expect(request.call)).took);
  }
  return { took: median(taken), nodes };
}

/** How requests grow with the cluster: ten times the nodes may cost ten times the time, not more. The ratio says how much more. */
export const growth: Benchmark = {
  name: 'growth',
  async *rows() {
    const taken = new Map<Subject, { took: number; nodes: number }[]>(subjects.map((subject) => [subject, []]));
    for (const size of sizes) {
      const muster = await startMusterWith(size);
      const client = await muster.connect();
      for (const subject of subjects) taken.get(subject)!.push(await measure(client, subject, size));
      client.close();
      await muster.stop();
    }
    for (const subject of subjects) yield* growthRows(subject.what, taken.get(subject)!);
  },
};

function* growthRows(what: string, results: readonly { took: number; nodes: number }[]): Iterable<Row> {
  yield { what, muster: '', floor: '', ratio: undefined, bar: undefined };
  for (const [i, { took, nodes }] of results.entries()) {
    const before = results[i - 1];
    const factor = before && took / before.took / (sizes[i]! / sizes[i - 1]!);
    const [size, count] = [sizes[i]!, nodes].map((value) => value.toLocaleString('en-US'));
    yield {
      what: `  ${count} nodes of ${size}`,
      muster: `${figure(took)} ms`,
      floor: `${figure((took / nodes) * 1000)} us a node`,
      ratio: factor,
      bar: sizes[i]! > smallest ? linear : undefined,
    };
  }
}
