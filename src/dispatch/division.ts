import type { OnWorkers, Plan } from '../commands/per-node.ts';
import type { Logger } from '../core/log.ts';
import { nodeFailure, type NodeResult } from '../core/results.ts';
import { cancelled } from '../core/waiting.ts';
import type { ConnectedWorker, JobOrder } from '../bus/index.ts';
import { FileAnswers } from './file-answers.ts';
import { jobOf } from './job.ts';
import { doByWorker } from './remote-job.ts';
import type { Workplace } from './work.ts';

/** Nodes in one job, and nodes of a command without a width of its own that one worker is at work on at a time. */
const nodesPerJob = 256;
const nodesPerWorker = 5_120;

type Results = readonly NodeResult<unknown>[];

/** What is divided between workers and this process. */
export interface Division {
  readonly command: string;
  readonly user: string;
  readonly onWorkers: OnWorkers<unknown>;
  /** Whether the work changes something. */
  readonly changes: boolean;
  readonly workplace: Workplace;
  readonly ssh: JobOrder['ssh'];
  readonly log: Logger;
  /** Milliseconds without anything new after which a worker loses a job. */
  readonly timeout: number;
  /** The first connected one of the node's service nodes that is none of these. */
  workerFor(node: string, except: ReadonlySet<string>): ConnectedWorker | undefined;
  /** Does the work in this process. */
  here(nodes: readonly string[], plan: Plan<unknown, unknown>): AsyncIterable<Results>;
}

/**
 * Has workers do what their nodes need and does the rest in this process. Every node gets exactly one result: what a worker that was
 * lost did not begin, the next one does, in the end this process.
 */
export async function* divided(
  division: Division,
  nodes: readonly string[],
  plan: Plan<unknown, unknown>,
): AsyncIterable<Results> {
  const run = new DividedWork(division, nodes, plan);
  try {
    yield* run.results();
  } finally {
    run.leave();
  }
}

class DividedWork {
  readonly #division: Division;
  readonly #plan: Plan<unknown, unknown>;
  /** Nodes without a result. */
  readonly #awaited: Set<string>;
  /** Workers that had the node and did not begin. */
  readonly #tried = new Map<string, Set<string>>();
  /** Aborted when nobody wants results any more. */
  readonly #left = new AbortController();
  #ready: NodeResult<unknown>[] = [];
  #broken: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(division: Division, nodes: readonly string[], plan: Plan<unknown, unknown>) {
    this.#division = division;
    this.#plan = plan;
    this.#awaited = new Set(nodes);
    const { signal } = division.workplace;
    if (signal.aborted) this.#left.abort(signal.reason);
    else signal.addEventListener('abort', () => this.#left.abort(signal.reason), { once: true });
  }

  leave(): void {
    this.#left.abort();
  }

  async *results(): AsyncIterable<Results> {
    this.#give([...this.#awaited]);
    while (this.#awaited.size > 0 || this.#ready.length > 0) {
      if (this.#ready.length === 0 && !this.#broken)
        await new Promise<void>((resolve) => (this.#wake = () => setImmediate(resolve)));
      if (this.#broken) throw this.#broken.error;
      const batch = this.#ready;
      this.#ready = [];
      if (batch.length > 0) yield batch;
    }
  }

  #deliver(results: Results): void {
    for (const result of results) if (this.#awaited.delete(result.node)) this.#ready.push(result);
    this.#wake?.();
  }

  #follow(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#broken ??= { error };
      this.#wake?.();
    });
  }

  #give(nodes: readonly string[]): void {
    const shares = new Map<string, { readonly worker: ConnectedWorker; readonly nodes: string[] }>();
    const here: string[] = [];
    for (const node of nodes) {
      const worker = this.#division.workerFor(node, this.#tried.get(node) ?? none);
      if (!worker) here.push(node);
      else {
        const share = shares.get(worker.name) ?? { worker, nodes: [] };
        shares.set(worker.name, share);
        share.nodes.push(node);
      }
    }
    if (here.length > 0) this.#follow(this.#doHere(here));
    for (const share of shares.values()) this.#follow(this.#doByWorker(share.worker, share.nodes));
  }

  async #doHere(nodes: readonly string[]): Promise<void> {
    for await (const batch of this.#division.here(nodes, this.#plan)) this.#deliver(batch);
  }

  /** In jobs of a bounded size, so many at a time as the command allows. */
  async #doByWorker(worker: ConnectedWorker, nodes: readonly string[]): Promise<void> {
    const width = this.#plan.width ?? nodesPerWorker;
    const size = Math.min(nodesPerJob, Math.max(1, Math.ceil(width / 4)));
    let underWay = 0;
    let roomMade: (() => void) | undefined;
    for (let at = 0; at < nodes.length; at += size) {
      const some = nodes.slice(at, at + size);
      while (underWay > 0 && underWay + some.length > width) await new Promise<void>((resolve) => (roomMade = resolve));
      underWay += some.length;
      const done = (count: number): void => {
        underWay -= count;
        roomMade?.();
      };
      this.#follow(this.#doJob(worker, some, done));
    }
  }

  async #doJob(worker: ConnectedWorker, nodes: readonly string[], done: (count: number) => void): Promise<void> {
    const { command, user, onWorkers, changes, workplace, ssh, log, timeout } = this.#division;
    const { signal } = this.#left;
    const deliver = (results: Results): void => {
      done(results.length);
      this.#deliver(results);
    };
    if (signal.aborted) {
      deliver(nodes.map((node) => nodeFailure(node, cancelled(signal))));
      return;
    }
    const { job, failed } = await jobOf({ name: command }, user, nodes, this.#plan);
    deliver(failed);
    const staying = Object.keys(job.targets).filter((node) => onWorkers.takes?.(job.targets[node]) === false);
    const targets = Object.fromEntries(Object.entries(job.targets).filter(([node]) => !staying.includes(node)));
    if (staying.length > 0) {
      this.#follow(this.#doHere(staying));
      done(staying.length);
    }
    if (Object.keys(targets).length === 0) return;
    const undone = await doByWorker({
      ...workplace,
      signal,
      worker,
      job: { ...job, targets },
      changes,
      timeout: timeout + (onWorkers.ownTimeout?.(job.shared) ?? 0),
      limits: onWorkers,
      ssh,
      files: new FileAnswers(workplace.files, onWorkers.files?.(job.shared)),
      log,
      deliver,
    });
    if (undone.length === 0) return;
    done(undone.length);
    for (const node of undone) this.#tried.set(node, new Set([...(this.#tried.get(node) ?? []), worker.name]));
    log.warn(
      `${undone.length} nodes that the worker ${worker.name} did not begin with go to the next, or to this server.`,
    );
    this.#give(undone);
  }
}

const none: ReadonlySet<string> = new Set();
