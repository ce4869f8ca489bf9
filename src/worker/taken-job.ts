import type { AnyPerNode } from '../commands/per-node.ts';
import { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { planOf } from '../dispatch/job.ts';
import { workOn } from '../dispatch/work.ts';
import { type Answer, type Channel, encoded, type JobOrder, type Order, readOrder } from '../bus/index.ts';
import { LocalFiles } from '../nodes/index.ts';
import type { CarriedConsoles } from './carried-consoles.ts';
import { FetchedFiles } from './fetched-files.ts';
import type { FileStore } from './file-store.ts';
import { GoAheads } from './go-aheads.ts';
import { Questions } from './questions.ts';
import { ReportQueue } from './report-queue.ts';
import type { OwnServices } from './services.ts';

/** What jobs are done with. */
export interface Workplace {
  readonly services: OwnServices;
  readonly files: FileStore;
  readonly consoles: CarriedConsoles;
  readonly log: Logger;
  commandNamed(name: string): AnyPerNode | undefined;
  /** Why no job is taken now; undefined: they are. */
  objection(): string | undefined;
  /** Counts nodes under way, and with them the job. */
  count(nodes: number): void;
}

/** Takes what a channel begins with: a job, and works on it to its end, or consoles. */
export async function takeJob(channel: Channel, place: Workplace): Promise<void> {
  const orders = channel[Symbol.asyncIterator]();
  const first = await orders.next();
  const order = first.done ? undefined : readOrder(first.value);
  if (order?.is === 'consoles') return place.consoles.take(channel, orders);
  if (order?.is !== 'job') {
    channel.end(new Fault('invalid', 'The channel does not begin with a job.'));
    return;
  }
  const command = place.commandNamed(order.job.command);
  const objection = command?.onWorkers ? place.objection() : `this worker knows no command ${order.job.command}.`;
  const nodes = Object.keys(order.job.targets).length;
  // Until the server has all results: a worker that stops waits for that.
  place.count(nodes);
  try {
    if (objection === undefined) await new TakenJob(channel, order, command!, place).done(orders);
    else await channel.send(encoded({ is: 'refused', sentence: objection } satisfies Answer)).catch(() => undefined);
    await channel.settled();
  } finally {
    place.count(-nodes);
    channel.close(new Fault('unavailable', 'The job is over.'));
  }
}

class TakenJob {
  readonly #channel: Channel;
  readonly #order: JobOrder;
  readonly #command: AnyPerNode;
  readonly #place: Workplace;
  readonly #abort = new AbortController();
  readonly #reports: ReportQueue;
  readonly #goAheads: GoAheads;
  readonly #fetched: FetchedFiles;
  /** About files. */
  readonly #questions = new Questions<unknown>();

  constructor(channel: Channel, order: JobOrder, command: AnyPerNode, place: Workplace) {
    this.#channel = channel;
    this.#order = order;
    this.#command = command;
    this.#place = place;
    this.#reports = new ReportQueue(channel);
    this.#goAheads = new GoAheads((question, nodes) => this.#send({ is: 'begin', question, nodes: [...nodes] }));
    this.#fetched = new FetchedFiles(place.files, (asked) =>
      this.#questions.ask((question) => channel.send(encoded({ is: 'file', question, asked } satisfies Answer))),
    );
  }

  async done(orders: AsyncIterator<Uint8Array>): Promise<void> {
    const { log } = this.#place;
    void this.#listen(orders);
    try {
      await this.#work(Object.keys(this.#order.job.targets));
      await this.#reports.flush();
      this.#send({ is: 'done' });
    } catch (error) {
      // The server finds that nodes have no result, and says what may have happened.
      log.error({ err: error }, `a job of ${this.#command.name} broke`);
      this.#channel.end(new Fault('unavailable', 'The job broke; the log of the worker says why.'));
    }
  }

  async #work(nodes: readonly string[]): Promise<void> {
    const { job, asks, passesOutput } = this.#order;
    const { services } = this.#place;
    const targets = Object.fromEntries(nodes.map((node) => [node, services.bring(node, job.targets[node])]));
    const unwatch = nodes.map((node) => services.watch(node, (effect) => this.#reports.add({ node, effect })));
    const files = new LocalFiles(this.#fetched);
    try {
      const results = workOn(this.#command, job.user, nodes, planOf({ ...job, targets }), {
        workerServices: services.for(this.#order),
        files,
        signal: this.#abort.signal,
        ...(asks && { goAhead: (node: string) => this.#goAheads.get(node) }),
        passOn: () => (passesOutput ? (node, stream, piece) => this.#passOn(node, stream, piece) : undefined),
        report: (node, effect) => {
          this.#reports.add({ node, effect });
          return undefined;
        },
      });
      for await (const batch of results) for (const result of batch) this.#reports.add({ result });
    } finally {
      for (const end of unwatch) end();
      await files.close();
      this.#fetched.close();
    }
  }

  /** Until the server has closed the channel, or is gone. */
  async #listen(orders: AsyncIterator<Uint8Array>): Promise<void> {
    for (let next = await orders.next(); !next.done; next = await orders.next()) {
      const order = readOrder(next.value);
      if (order) this.#obey(order);
    }
    const lost = this.#channel.closed!;
    this.#goAheads.close(lost);
    this.#questions.fail(lost);
    // What has begun to change something goes on to its end, though nobody reads of it.
    if (!this.#order.asks) this.#abort.abort(lost);
  }

  #obey(order: Order): void {
    switch (order.is) {
      case 'job':
      case 'consoles':
        return;
      case 'go-ahead':
        this.#goAheads.answered(order.question);
        return;
      case 'cancel': {
        const fault = new Fault(order.fault.kind, order.fault.sentences);
        this.#goAheads.close(fault);
        this.#abort.abort(fault);
        return;
      }
      case 'file':
        this.#questions.answered(order.question, order.answer);
        return;
      case 'file-fault':
        this.#questions.refused(order.question, new Fault(order.fault.kind, order.fault.sentences));
    }
  }

  async #passOn(node: string, stream: 'stdout' | 'stderr', piece: string): Promise<void> {
    await this.#channel.send(encoded({ is: 'output', node, stream, piece } satisfies Answer)).catch(() => undefined);
  }

  /** A server that is gone gets nothing. */
  #send(answer: Answer): void {
    this.#channel.send(encoded(answer)).catch(() => undefined);
  }
}
