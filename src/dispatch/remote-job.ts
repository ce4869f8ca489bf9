import type { OnWorkers } from '../commands/per-node.ts';
import type { Effect } from '../core/effects.ts';
import { Fault, type FaultData } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { nodeFailure, type NodeFailure, type NodeResult } from '../core/results.ts';
import { cancelled, onAbort } from '../core/waiting.ts';
import {
  type Answer,
  type Channel,
  type ConnectedWorker,
  encoded,
  type JobOrder,
  largestJob,
  type Order,
  readAnswer,
  type Report,
} from '../bus/index.ts';
import type { FileAnswers } from './file-answers.ts';
import type { Job } from './job.ts';
import { withinRoom } from './kept-output.ts';
import { withSentences, type Workplace } from './work.ts';

/** Effects of one node that are kept: more than any work has. */
const mostEffects = 1_000;
/** Files of a job that are read for a worker at a time. */
const mostFileAnswers = 32;
/** Milliseconds that a worker has to end a job that was cancelled. One that hangs must not keep a run for ever. */
const cancelTimeout = 15_000;

/** The longest that a timer can be set to. */
const longestTimer = 2 ** 31 - 1;

/** How a job is done by a worker. */
export interface RemoteJobOptions extends Pick<Workplace, 'signal' | 'report' | 'room' | 'passOn'> {
  readonly worker: ConnectedWorker;
  readonly job: Job;
  /** The command changes something: what may have happened is never repeated. */
  readonly changes: boolean;
  /** Milliseconds without a new result, step or node after which the job is taken from the worker: it must not keep a run for ever. */
  readonly timeout: number;
  readonly limits: Pick<OnWorkers<never>, 'effects' | 'mayReport' | 'howToLook'>;
  readonly ssh: JobOrder['ssh'];
  readonly files: FileAnswers;
  readonly log: Logger;
  /** Takes results as they come. */
  deliver(results: readonly NodeResult<unknown>[]): void;
}

/**
 * Has a job done by a worker, and returns the nodes on which nothing was done because the worker was lost or refused. Every other node
 * gets one result: the worker's, or, if the worker was lost after it got the go-ahead for the node, that it may have happened.
 */
export async function doByWorker(options: RemoteJobOptions): Promise<readonly string[]> {
  const run = new RemoteJob(options);
  return run.toTheEnd();
}

/** Lines in the log about what a worker sends and must not, for each job. */
const mostComplaints = 10;

class RemoteJob {
  readonly #options: RemoteJobOptions;
  readonly #channel: Channel;
  /** Nodes without a result, and those of them that work may have begun on. */
  readonly #open: Set<string>;
  readonly #begun = new Set<string>();
  /** How many of each node were kept. */
  readonly #effects = new Map<string, number>();
  readonly #kept = new Map<string, Promise<string | void>[]>();
  readonly #finishing: Promise<void>[] = [];
  readonly #fileAnswers = new Set<Promise<void>>();
  #complaints = 0;
  #timer: NodeJS.Timeout | undefined;
  #isLate = false;

  constructor(options: RemoteJobOptions) {
    this.#options = options;
    this.#channel = options.worker.open();
    this.#open = new Set(Object.keys(options.job.targets));
  }

  async toTheEnd(): Promise<readonly string[]> {
    const { job, changes, ssh, signal, passOn, log } = this.#options;
    const passesOutput = passOn?.() !== undefined;
    const order = encoded({ is: 'job', job, asks: changes, passesOutput, ssh } satisfies Order);
    if (order.length > largestJob) {
      log.warn(`A job of ${job.command} takes ${order.length} bytes, which is too large for the bus.`);
      return [...this.#open];
    }
    let tooLate: NodeJS.Timeout | undefined;
    const cancel = (): void => {
      void this.#send({ is: 'cancel', fault: faultOf(signal) });
      const late = new Fault('unavailable', 'the worker did not end the job after it was cancelled.');
      tooLate = setTimeout(() => this.#channel.end(late), cancelTimeout).unref();
    };
    const ignore = onAbort(signal, cancel);
    this.#timer = setTimeout(() => this.#takeAway(), Math.min(this.#options.timeout, longestTimer)).unref();
    try {
      void this.#sendText(order);
      if (signal.aborted) cancel();
      for await (const message of this.#channel) if (!(await this.#take(message))) break;
    } finally {
      ignore();
      clearTimeout(tooLate);
      clearTimeout(this.#timer);
      this.#channel.end(new Fault('unavailable', 'the job is over.'));
    }
    await Promise.all(this.#finishing);
    return this.#undone();
  }

  /** As if the worker was lost. What it has begun it may still finish; it begins nothing else. */
  #takeAway(): void {
    const { worker, job, log, timeout } = this.#options;
    this.#isLate = true;
    log.error(
      `The worker ${worker.name} did nothing for ${timeout / 1_000} s that a job of ${job.command} for ${this.#open.size} nodes waits for; the job was taken from it. Look into its log.`,
    );
    this.#channel.end(new Fault('unavailable', 'the worker did not end the job.'));
  }

  /** False: it was the last. */
  async #take(message: Uint8Array): Promise<boolean> {
    const { worker, log, passOn } = this.#options;
    const answer = readAnswer(message);
    if (!answer) {
      log.error(`The worker ${worker.name} sent something that is no answer; its job was ended.`);
      return false;
    }
    switch (answer.is) {
      case 'refused':
        log.warn(`The worker ${worker.name} refused a job: ${answer.sentence}`);
        return false;
      case 'begin':
        await this.#letBegin(answer);
        return true;
      case 'reports':
        this.#keep(answer.reports);
        return this.#open.size > 0;
      case 'output':
        if (this.#open.has(answer.node)) await passOn?.()?.(answer.node, answer.stream, answer.piece);
        return true;
      case 'file':
        await this.#answerFile(answer);
        return true;
      case 'done':
        return false;
    }
  }

  /** Resolves when more may be asked. */
  async #answerFile({ question, asked }: Extract<Answer, { is: 'file' }>): Promise<void> {
    const { files, log } = this.#options;
    const answering = files
      .answer(asked)
      .then(
        (answer): Order => ({ is: 'file', question, answer }),
        (error: unknown): Order => ({ is: 'file-fault', question, fault: files.faultOf(error, log) }),
      )
      .then((order) => this.#channel.send(encoded(order)))
      // A worker that is gone gets nothing.
      .catch(() => undefined)
      .finally(() => this.#fileAnswers.delete(answering));
    this.#fileAnswers.add(answering);
    if (this.#fileAnswers.size >= mostFileAnswers) await Promise.race(this.#fileAnswers);
  }

  /**
   * What may have happened is noted before the worker may make it happen. Resolves when the answer is on its way: a worker that asks and
   * does not listen must not fill the memory with answers.
   */
  async #letBegin({ question, nodes }: Extract<Answer, { is: 'begin' }>): Promise<void> {
    if (this.#options.signal.aborted) return;
    const { size } = this.#begun;
    for (const node of nodes) if (this.#open.has(node)) this.#begun.add(node);
    if (this.#begun.size > size) this.#timer?.refresh();
    await this.#send({ is: 'go-ahead', question });
  }

  #keep(reports: readonly Report[]): void {
    const ready: NodeResult<unknown>[] = [];
    for (const report of reports) {
      if ('effect' in report) this.#keepEffect(report.node, report.effect);
      else {
        const result = this.#settle(report.result);
        if (result) ready.push(result);
      }
    }
    if (ready.length > 0) this.#options.deliver(ready);
  }

  #keepEffect(node: string, effect: Effect): void {
    const { worker, limits, report, log, job } = this.#options;
    const isPossible = limits.effects.includes(effect.kind) && limits.mayReport?.(effect, job.shared) !== false;
    const count = (this.#effects.get(node) ?? 0) + 1;
    if (!this.#open.has(node) || !isPossible || count > mostEffects) {
      const what = `${effect.kind} of ${node.slice(0, 100)}`;
      if (++this.#complaints > mostComplaints) return;
      log.warn(
        `The worker ${worker.name} reported ${what}, which ${job.command} on its nodes cannot have; it was not kept.`,
      );
      return;
    }
    this.#effects.set(node, count);
    this.#timer?.refresh();
    const keeping = report(node, effect);
    // Whoever waits for it is the result; one that never comes must not end the process.
    keeping?.catch(() => undefined);
    if (!keeping) return;
    const kept = this.#kept.get(node);
    if (kept) kept.push(keeping);
    else this.#kept.set(node, [keeping]);
  }

  /** The result if it can be delivered now. */
  #settle(given: NodeResult<unknown>): NodeResult<unknown> | undefined {
    const { worker, log, room } = this.#options;
    const { node } = given;
    if (!this.#open.delete(node)) {
      if (++this.#complaints <= mostComplaints)
        log.warn(`The worker ${worker.name} sent a result for ${node.slice(0, 100)}, which it was not asked for.`);
      return undefined;
    }
    this.#timer?.refresh();
    const result = withinRoom(given, room);
    const kept = this.#kept.get(node);
    if (!kept) return result;
    this.#kept.delete(node);
    const finishing = this.#finish(result, kept);
    // Whoever waits for all of them finds what broke.
    finishing.catch(() => undefined);
    this.#finishing.push(finishing);
    return undefined;
  }

  async #finish(result: NodeResult<unknown>, kept: readonly Promise<string | void>[]): Promise<void> {
    this.#options.deliver([await withSentences(result, kept)]);
  }

  /** Delivers what may have happened; the rest can be done elsewhere. */
  #undone(): readonly string[] {
    const { signal, deliver } = this.#options;
    const maybe = [...this.#open].filter((node) => this.#begun.has(node));
    if (maybe.length > 0) deliver(maybe.map((node) => this.#mayHaveHappened(node)));
    const undone = [...this.#open].filter((node) => !this.#begun.has(node));
    if (!signal.aborted) return undone;
    deliver(undone.map((node) => nodeFailure(node, cancelled(signal))));
    return [];
  }

  #mayHaveHappened(node: string): NodeFailure {
    const { worker, job, limits } = this.#options;
    return nodeFailure(
      node,
      new Fault('unavailable', [
        this.#isLate
          ? `the worker ${worker.name} did not finish ${job.command} on this node in time, so that may have happened or not.`
          : `the worker ${worker.name} was lost while it did ${job.command} on this node, so that may have happened or not.`,
        limits.howToLook(node),
      ]),
    );
  }

  /** To a worker that is gone nothing is sent; what follows from that, whoever reads its channel finds. */
  #send(order: Order): Promise<void> {
    return this.#sendText(encoded(order));
  }

  #sendText(order: Uint8Array): Promise<void> {
    return this.#channel.send(order).catch(() => undefined);
  }
}

function faultOf(signal: AbortSignal): FaultData {
  const { kind, sentences } = cancelled(signal);
  return { kind, sentences: [...sentences] };
}
