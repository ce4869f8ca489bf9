import { type Channel, type ConsoleFailure, type ConsoleOrder, readConsoleOrder } from '../bus/index.ts';
import { Fault, Unreachable } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { OpenConsole } from '../drivers/index.ts';
import { ConsoleReports } from './console-reports.ts';
import type { OwnServices } from './services.ts';

/** Milliseconds that a machine may take until its console is open. */
const openTimeout = 60_000;
/** Characters of a sentence that go to the server, and sentences. */
const longestSentence = 600;
const mostSentences = 8;

type OpenOrder = Extract<ConsoleOrder, { is: 'open' }>;

/** The console of one node that this worker has open, or is opening. */
interface Carried {
  readonly end: AbortController;
  open: OpenConsole | undefined;
  /** Nothing is said of it any more. */
  isOver: boolean;
}

/** The consoles that servers have this worker open: each as long as its server wants it and is there. */
export class CarriedConsoles {
  readonly #services: OwnServices;
  readonly #log: Logger;
  readonly #carriages = new Set<Carriage>();
  #isStopping = false;

  constructor(services: OwnServices, log: Logger) {
    this.#services = services;
    this.#log = log;
  }

  /** Takes the orders of a server until its channel is closed. */
  async take(channel: Channel, orders: AsyncIterator<Uint8Array>): Promise<void> {
    const carriage = new Carriage(channel, this.#services, this.#log);
    this.#carriages.add(carriage);
    try {
      if (!this.#isStopping) await carriage.obey(orders);
    } finally {
      this.#carriages.delete(carriage);
      await carriage.close();
      channel.end(new Fault('unavailable', 'The worker carries no consoles for this server any more.'));
    }
  }

  /** Machines get their consoles closed, and servers hear why. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all([...this.#carriages].map((carriage) => carriage.close('The worker is stopping.')));
  }
}

/** Those of one server. */
class Carriage {
  readonly #channel: Channel;
  readonly #services: OwnServices;
  readonly #log: Logger;
  readonly #reports: ConsoleReports;
  readonly #carried = new Map<number, Carried>();
  readonly #closing = new Set<Promise<void>>();

  constructor(channel: Channel, services: OwnServices, log: Logger) {
    this.#channel = channel;
    this.#services = services;
    this.#log = log;
    this.#reports = new ConsoleReports(channel);
  }

  async obey(orders: AsyncIterator<Uint8Array>): Promise<void> {
    for (let next = await orders.next(); !next.done; next = await orders.next()) {
      const order = readConsoleOrder(next.value);
      if (order) this.#obey(order);
      else return this.#log.error('A server sent something about consoles that this worker does not understand.');
    }
  }

  async close(reason?: string): Promise<void> {
    for (const id of this.#carried.keys())
      this.#finish(id, reason === undefined ? undefined : failureOf(new Unreachable(reason)));
    await Promise.all(this.#closing);
    if (reason !== undefined) await this.#reports.flush();
  }

  #obey(order: ConsoleOrder): void {
    if (order.is === 'open') return void this.#open(order);
    if (order.is === 'close') return this.#finish(order.id, undefined);
    const { id, number } = order;
    const open = this.#carried.get(id)?.open;
    const work = (): Promise<void> => {
      if (!open) throw new Fault('unavailable', 'The console is not open.');
      return order.is === 'break' ? open.sendBreak() : open.write(Buffer.from(order.bytes, 'base64'));
    };
    const doing = Promise.resolve().then(work);
    doing.then(
      () => this.#reports.add({ is: 'done', id, number }),
      (error: unknown) => this.#reports.add({ is: 'done', id, number, failure: this.#failure(error) }),
    );
  }

  async #open({ id, node, target, takeOver, lost }: OpenOrder): Promise<void> {
    if (this.#carried.has(id)) return;
    const carried: Carried = { end: new AbortController(), open: undefined, isOver: false };
    this.#carried.set(id, carried);
    const { console, release } = this.#services.console(node, target, (learned) =>
      this.#reports.add({ is: 'learned', id, ...learned }),
    );
    try {
      const open = await console().open(
        {
          takeOver,
          lost,
          output: (bytes) => {
            if (!carried.isOver) this.#reports.output(id, bytes);
          },
          closed: (reason) => {
            carried.open = undefined;
            this.#finish(id, reason && this.#failure(reason));
          },
        },
        AbortSignal.any([carried.end.signal, AbortSignal.timeout(openTimeout)]),
      );
      // The order to close it may have come, or the machine may have closed it, before it was open.
      if (carried.isOver) await open.close();
      else {
        carried.open = open;
        const { way, session } = open;
        this.#reports.add({ is: 'opened', id, way: clean(way), ...(session !== undefined && { session }) });
      }
    } catch (error) {
      this.#finish(id, this.#failure(error));
    } finally {
      release();
    }
  }

  /** Whoever has ordered it hears once that it is closed. */
  #finish(id: number, failure: ConsoleFailure | undefined): void {
    const carried = this.#carried.get(id);
    if (!carried) return;
    this.#carried.delete(id);
    carried.isOver = true;
    carried.end.abort();
    const closing = this.#closeOpen(carried)
      .then(() => this.#reports.add({ is: 'closed', id, ...(failure && { failure }) }))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  async #closeOpen({ open }: Carried): Promise<void> {
    await open?.close().catch((error: unknown) => this.#log.error({ err: error }, 'a console could not be closed'));
  }

  #failure(error: unknown): ConsoleFailure {
    if (!(error instanceof Fault) && (error as Error).name !== 'TimeoutError' && !this.#channel.closed)
      this.#log.error({ err: error }, 'a console failed unexpectedly');
    return failureOf(error);
  }
}

const clean = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, longestSentence);

function failureOf(error: unknown): ConsoleFailure {
  if (!(error instanceof Fault)) {
    const late = (error as Error).name === 'TimeoutError';
    const sentence = late
      ? `It did not open within ${openTimeout / 1_000} s.`
      : 'Something went wrong inside muster; the log of the worker says more.';
    return { kind: 'unavailable', sentences: [sentence], unreachable: false };
  }
  const sentences = error.sentences.slice(0, mostSentences).map(clean);
  return { kind: error.kind, sentences, unreachable: error instanceof Unreachable };
}
