import { setTimeout as pause } from 'node:timers/promises';
import type { NetworkedCluster } from '../test/bus/networks.ts';
import type { CallOptions, Reply } from '../test/harness/client.ts';
import type { Random } from '../test/process/random.ts';
import type { Read, Write } from './chaos-history.ts';
import type { Faults } from './chaos-faults.ts';

/** What clients have seen. */
export interface Record {
  readonly writes: Write[];
  readonly reads: Read[];
  readonly violations: string[];
  readonly power: {
    commands: number;
    done: number;
    failed: number;
    interrupted: number;
    cut: number;
    readings: number;
  };
}

export const newRecord = (): Record => ({
  writes: [],
  reads: [],
  violations: [],
  power: { commands: 0, done: 0, failed: 0, interrupted: 0, cut: 0, readings: 0 },
});

export interface Surroundings {
  readonly cluster: NetworkedCluster;
  readonly token: string;
  readonly record: Record;
  readonly faults: Faults;
  readonly signal: AbortSignal;
}

/** Undefined: no answer came. */
async function ask(
  { cluster, token }: Surroundings,
  random: Random,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Reply | undefined> {
  const { server } = random.pick(cluster.servers);
  return server.client.call(method, path, { ...options, token }).catch(() => undefined);
}

const revisionOf = ({ headers }: Reply): number => Number(headers['x-muster-revision']);

export const writtenAttribute = 'usercomment';

/** Records what a server shows of a node. */
export async function readNode(by: Surroundings, random: Random, node: string, asked: number): Promise<void> {
  const headers = asked > 0 ? { 'x-muster-revision': String(asked) } : {};
  const reply = await ask(by, random, 'GET', `/nodes/${node}`, { headers });
  if (reply?.status !== 200) return;
  const value = String(reply.json[node][writtenAttribute] ?? '');
  by.record.reads.push({ node, value, revision: revisionOf(reply), asked });
}

/** Writes values to nodes that others write to too, and reads them at other servers. */
export async function writer(by: Surroundings, random: Random, name: string, nodes: readonly string[]): Promise<void> {
  const { record, signal } = by;
  let latest = 0;
  for (let number = 1; !signal.aborted; number++) {
    const node = random.pick(nodes);
    const value = `${name}-${number}`;
    const began = performance.now();
    const reply = await ask(by, random, 'PUT', `/nodes/${node}`, { body: { [writtenAttribute]: value } });
    const write = { node, value, began, ended: performance.now() };
    if (reply?.status === 200) {
      latest = revisionOf(reply);
      record.writes.push({ ...write, outcome: 'acknowledged', revision: latest });
    } else {
      const isRefused = reply?.headers['x-muster-done'] === 'nothing';
      record.writes.push({ ...write, outcome: isRefused ? 'refused' : 'unknown' });
      if (reply && reply.status !== 503) record.violations.push(`PUT of ${node} got ${reply.status}: ${reply.text}`);
    }
    await readNode(by, random, node, latest);
    if (random.chance(30)) await readNode(by, random, random.pick(nodes), 0);
    await pause(20 + random.number(80));
  }
}

interface Result {
  readonly node: string;
  readonly value?: { readonly power?: string };
  readonly error?: string;
}

interface Run {
  readonly state: string;
  readonly results?: readonly Result[];
}

/** Milliseconds after which workers do nothing for a server that they no longer hear. */
const settleTime = 10_000;
const runTimeout = 120_000;

/** The run when it has ended, as any server shows it; undefined: none knows it. */
async function endedRun(by: Surroundings, random: Random, id: string): Promise<Run | undefined> {
  for (const until = performance.now() + runTimeout; performance.now() < until; await pause(300)) {
    const reply = await ask(by, random, 'GET', `/runs/${id}`);
    if (reply?.status === 200 && reply.json.state !== 'running') return reply.json as Run;
  }
  return undefined;
}

/** Switches its own BMCs on and off, and looks what they have got. */
export class PowerClient {
  readonly #by: Surroundings;
  readonly #random: Random;
  /** Indexes of BMCs; the node n1 has the first. */
  readonly #bmcs: readonly number[];

  constructor(by: Surroundings, random: Random, bmcs: readonly number[]) {
    this.#by = by;
    this.#random = random;
    this.#bmcs = bmcs;
  }

  get #range(): string {
    return this.#bmcs.map((index) => `n${index + 1}`).join(',');
  }

  async run(): Promise<void> {
    let counts: readonly number[] = await this.#counts();
    for (let number = 0; !this.#by.signal.aborted; number++) {
      counts = await this.#change(number % 2 === 0 ? 'on' : 'off', counts);
      if (this.#random.chance(50)) await this.#look();
      await pause(200 + this.#random.number(800));
    }
    this.#compare('after the end', counts, await this.#counts(), 0);
  }

  async #change(action: 'on' | 'off', known: readonly number[]): Promise<readonly number[]> {
    const { record, faults } = this.#by;
    const before = await this.#counts();
    this.#compare('between two commands', known, before, 0);
    const isAsync = this.#random.chance(50);
    record.power.commands++;
    const reply = await ask(this.#by, this.#random, 'PUT', `/nodes/${this.#range}/power`, {
      body: { action },
      headers: isAsync ? { Prefer: 'respond-async' } : {},
    });
    const id = reply?.headers['x-muster-run'];
    const isRefused = reply?.headers['x-muster-done'] === 'nothing';
    const run = id === undefined || isRefused ? undefined : await endedRun(this.#by, this.#random, String(id));
    const isSettled = isRefused || run?.state === 'finished';
    if (!isSettled) {
      await faults.over();
      await pause(settleTime);
    }
    const after = await this.#counts();
    this.#compare(`${action} in ${String(id)}`, before, after, isRefused ? 0 : 1);
    if (run) await this.#check(String(id), run, action);
    else if (!isRefused) record.power.cut++;
    return after;
  }

  async #check(id: string, { state, results = [] }: Run, action: string): Promise<void> {
    const { record, cluster } = this.#by;
    if (state === 'interrupted') record.power.interrupted++;
    const nodes = results.map(({ node }) => node);
    const expected = this.#bmcs.map((index) => `n${index + 1}`);
    if (nodes.toSorted().join() !== expected.toSorted().join())
      record.violations.push(`the run ${id} (${state}) has results for ${nodes.join()} instead of ${expected.join()}`);
    for (const { node, error } of results) {
      if (error === undefined) record.power.done++;
      else record.power.failed++;
      const { power } = await cluster.bmcs.state(Number(node.slice(1)) - 1);
      if (error === undefined && power !== action)
        record.violations.push(`the run ${id} says that ${node} is ${action}, and its BMC is ${power}`);
    }
  }

  async #look(): Promise<void> {
    const { record } = this.#by;
    const reply = await ask(this.#by, this.#random, 'GET', `/nodes/${this.#range}/power`);
    if (reply?.status !== 200) return;
    record.power.readings++;
    const found = Object.keys(reply.json as object).length;
    if (found !== this.#bmcs.length)
      record.violations.push(`a reading has ${found} results for ${this.#bmcs.length} nodes: ${reply.text}`);
  }

  /** How many commands that change something each BMC has got. */
  #counts(): Promise<number[]> {
    const { bmcs } = this.#by.cluster;
    return Promise.all(this.#bmcs.map(async (index) => (await bmcs.state(index)).controls.length));
  }

  #compare(when: string, before: readonly number[], after: readonly number[], most: number): void {
    for (const [place, index] of this.#bmcs.entries()) {
      const more = after[place]! - before[place]!;
      if (more > most) this.#by.record.violations.push(`the BMC of n${index + 1} got ${more} commands ${when}`);
    }
  }
}
