/** Microseconds of processor time for each node, at each kind of process, and what a BMC takes to answer. */
export interface NodeCosts {
  readonly server: number;
  readonly worker: number;
  readonly nats: number;
  readonly answer: number;
}

export interface Simulated {
  /** Seconds. */
  readonly elapsed: number;
  /** Share of that time that each kind was busy; of the workers the busiest. */
  readonly busy: Readonly<Record<'server' | 'worker' | 'nats', number>>;
}

/** As dispatch/division.ts has it. */
const nodesPerJob = 256;

/** Something that does one thing after another. */
class Queue {
  #free = 0;
  #busy = 0;

  get busy(): number {
    return this.#busy;
  }

  /** When work that arrives then, and takes so long, is done. */
  take(arrives: number, takes: number): number {
    this.#busy += takes;
    this.#free = Math.max(this.#free, arrives) + takes;
    return this.#free;
  }
}

interface Step {
  readonly at: number;
  readonly job: number;
  readonly stage: number;
}

/**
 * One command on all nodes of a cluster. Each job goes from the server over NATS to its worker and back. Half of what server and NATS
 * spend on it comes before the worker's work. The workers have equal shares, and an own thread each.
 */
export function simulate(nodes: number, workerCount: number, costs: NodeCosts): Simulated {
  const server = new Queue();
  const nats = new Queue();
  const workers = Array.from({ length: workerCount }, () => new Queue());
  const perWorker = Math.ceil(nodes / workerCount);
  const jobsEach = Math.ceil(perWorker / nodesPerJob);
  const size = perWorker / jobsEach;
  const workerOf = (job: number): Queue => workers[job % workerCount]!;
  const stages: readonly ((job: number, at: number) => number)[] = [
    (_job, at) => server.take(at, (size * costs.server) / 2),
    (_job, at) => nats.take(at, (size * costs.nats) / 2),
    (job, at) => workerOf(job).take(at, size * costs.worker) + costs.answer,
    (_job, at) => nats.take(at, (size * costs.nats) / 2),
    (_job, at) => server.take(at, (size * costs.server) / 2),
  ];
  // The next one is the last of them.
  const steps: Step[] = Array.from({ length: jobsEach * workerCount }, (_, job) => ({
    at: 0,
    job,
    stage: 0,
  })).reverse();
  let elapsed = 0;
  for (let step = steps.pop(); step; step = steps.pop()) {
    const { job, stage } = step;
    const at = stages[stage]!(job, step.at);
    elapsed = Math.max(elapsed, at);
    if (stage + 1 < stages.length) steps.splice(firstUpTo(steps, at), 0, { at, job, stage: stage + 1 });
  }
  const busiest = Math.max(...workers.map(({ busy }) => busy));
  return {
    elapsed: elapsed / 1e6,
    busy: { server: server.busy / elapsed, worker: busiest / elapsed, nats: nats.busy / elapsed },
  };
}

/** Where a step at this time goes among steps of which the latest come first. */
function firstUpTo(steps: readonly Step[], at: number): number {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle]!.at > at) low = middle + 1;
    else high = middle;
  }
  return low;
}
