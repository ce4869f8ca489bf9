import { setTimeout as pause } from 'node:timers/promises';
import {
  type Channel,
  type ConnectedWorker,
  type ConsoleFailure,
  type ConsoleOrder,
  type ConsoleReport,
  encoded,
  mostCharacters,
  readConsoleReports,
} from '../bus/index.ts';
import { Fault, Unreachable } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { onAbort } from '../core/waiting.ts';
import type { Console, ConsoleOptions, DeviceTarget, OpenConsole } from '../drivers/index.ts';

/** Milliseconds that a worker has to say that something was typed, and that a console is closed. */
const writeTimeout = 30_000;
const closeTimeout = 5_000;
/** Bytes in a second that all consoles of a worker may print together; of a worker that sends more is read more slowly. */
const perSecond = 16 << 20;
const flowRest = 100;

/** Keeps what BMCs have shown first, unless something is kept already. */
export interface KeepsTrust {
  certificate(node: string, fingerprint: string): Promise<void>;
  hostKey(node: string, key: string): Promise<void>;
}

/** One console that a worker has, or is asked to open. */
interface Carried {
  readonly node: string;
  readonly options: ConsoleOptions;
  /** Called once, with how it was opened or why not. */
  settle(opened: { readonly way: string; readonly session?: number } | Fault): void;
  isOpen: boolean;
  /** What was typed and is not confirmed, by number. */
  readonly waiting: Map<number, (failure: Fault | undefined) => void>;
  /** The first certificate and the first key. */
  readonly learned: Set<string>;
  /** The worker says that it is closed. */
  readonly closed: PromiseWithResolvers<void>;
}

/** The consoles that one worker has for this server. They travel over one channel, and the worker knows each by a number. */
export class Carrier {
  readonly worker: string;
  readonly #channel: Channel;
  readonly #trust: KeepsTrust;
  readonly #log: Logger;
  readonly #carried = new Map<number, Carried>();
  #next = 0;
  #second = { number: 0, bytes: 0 };

  constructor(worker: ConnectedWorker, trust: KeepsTrust, log: Logger) {
    this.worker = worker.name;
    this.#trust = trust;
    this.#log = log;
    this.#channel = worker.open();
    this.#channel.send(encoded({ is: 'consoles' })).catch(() => undefined);
    void this.#listen();
  }

  /** The worker is gone, or was cut off. */
  get isOver(): boolean {
    return this.#channel.closed !== undefined;
  }

  /** The console of a node as the worker opens it: it gets the target of this node, and of no other. */
  console(node: string, target: DeviceTarget): Console {
    return { open: (options, signal) => this.#open(node, target, options, signal) };
  }

  /** The worker closes all consoles that it has for this server. */
  close(): void {
    this.#channel.end(new Fault('unavailable', 'The consoles are over.'));
  }

  async #open(
    node: string,
    { driver, device, address, width, access }: DeviceTarget,
    options: ConsoleOptions,
    signal: AbortSignal,
  ): Promise<OpenConsole> {
    signal.throwIfAborted();
    const id = this.#next++;
    const opening = Promise.withResolvers<{ readonly way: string; readonly session?: number }>();
    const carried: Carried = {
      node,
      options,
      settle: (how) => (how instanceof Fault ? opening.reject(how) : opening.resolve(how)),
      isOpen: false,
      waiting: new Map(),
      learned: new Set(),
      closed: Promise.withResolvers(),
    };
    this.#carried.set(id, carried);
    const { takeOver, lost } = options;
    const target = { driver, device, address, width, access };
    this.#send({ is: 'open', id, node, target, takeOver, ...(lost !== undefined && { lost }) });
    const ignore = onAbort(signal, () => {
      this.#send({ is: 'close', id });
      this.#carried.delete(id);
      opening.reject(signal.reason);
    });
    try {
      const { way, session } = await opening.promise;
      return this.#opened(id, carried, `${way} from ${this.worker}`, session);
    } finally {
      ignore();
    }
  }

  #opened(id: number, carried: Carried, way: string, session: number | undefined): OpenConsole {
    let numbers = 0;
    const ask = (order: (number: number) => ConsoleOrder): Promise<void> => {
      if (!carried.isOpen) return Promise.reject(new Fault('unavailable', 'The console is not connected.'));
      const number = numbers++;
      return this.#answered(carried, number, () => this.#send(order(number)));
    };
    return {
      way,
      session,
      write: async (bytes) => {
        for (let at = 0; at < bytes.length; at += mostCharacters) {
          const piece = Buffer.from(bytes.subarray(at, at + mostCharacters)).toString('base64');
          await ask((number) => ({ is: 'write', id, number, bytes: piece }));
        }
      },
      sendBreak: () => ask((number) => ({ is: 'break', id, number })),
      close: async () => {
        if (!carried.isOpen) return;
        carried.isOpen = false;
        this.#send({ is: 'close', id });
        await Promise.race([carried.closed.promise, pause(closeTimeout, undefined, { ref: false })]);
        this.#forget(id, carried);
        carried.options.closed();
      },
    };
  }

  #answered(carried: Carried, number: number, send: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = new Fault('deadline', `the worker ${this.worker} did not say that it arrived.`);
      const timer = setTimeout(() => settle(late), writeTimeout).unref();
      const settle = (failure: Fault | undefined): void => {
        clearTimeout(timer);
        carried.waiting.delete(number);
        if (failure) reject(failure);
        else resolve();
      };
      carried.waiting.set(number, settle);
      send();
    });
  }

  async #listen(): Promise<void> {
    for await (const message of this.#channel) {
      const reports = readConsoleReports(message)?.reports;
      if (!reports) {
        this.#log.error(`The worker ${this.worker} sent something about consoles that is none of it; it was cut off.`);
        this.#channel.end(new Fault('garbled', 'That is nothing about consoles.'));
        break;
      }
      for (const report of reports) this.#take(report);
      await this.#flow(message.length);
    }
    const lost = new Unreachable(`the worker ${this.worker}, which had the console, is gone.`);
    for (const [id, carried] of this.#carried) this.#lost(id, carried, lost);
  }

  #take(report: ConsoleReport): void {
    const { id } = report;
    const carried = this.#carried.get(id);
    // It was closed, and its worker did not know yet.
    if (!carried) return;
    const { options } = carried;
    switch (report.is) {
      case 'opened':
        if (carried.isOpen) return;
        carried.isOpen = true;
        return carried.settle(report);
      case 'output': {
        const bytes = Buffer.from(report.bytes, 'base64');
        if (bytes.length > 0) options.output(bytes);
        if (report.cut !== undefined) options.cut?.(report.cut);
        return;
      }
      case 'done':
        return carried.waiting.get(report.number)?.(report.failure && this.#fault(report.failure));
      case 'closed':
        return this.#lost(id, carried, report.failure && this.#fault(report.failure));
      case 'learned':
        return this.#learn(carried, report);
    }
  }

  /** Whoever is closing it waits for that; others hear why it is over. */
  #lost(id: number, carried: Carried, reason: Fault | undefined): void {
    const wasOpen = carried.isOpen;
    carried.isOpen = false;
    this.#forget(id, carried);
    const fault = reason ?? new Unreachable(`the worker ${this.worker} has closed it.`);
    carried.settle(fault);
    for (const settle of carried.waiting.values()) settle(fault);
    carried.closed.resolve();
    if (wasOpen) carried.options.closed(fault);
  }

  #forget(id: number, carried: Carried): void {
    if (this.#carried.get(id) === carried) this.#carried.delete(id);
  }

  #learn({ node, learned }: Carried, { certificate, hostKey }: Extract<ConsoleReport, { is: 'learned' }>): void {
    const keep = (what: string, keeping: () => Promise<void>): void => {
      if (learned.has(what)) return;
      learned.add(what);
      keeping().catch((error: unknown) => this.#log.error({ err: error, node }, `its first ${what} was not kept`));
    };
    if (certificate !== undefined) keep('certificate', () => this.#trust.certificate(node, certificate));
    if (hostKey !== undefined) keep('host key', () => this.#trust.hostKey(node, hostKey));
  }

  #fault({ kind, sentences, unreachable }: ConsoleFailure): Fault {
    return unreachable ? new Unreachable(sentences.join(' ')) : new Fault(kind, sentences);
  }

  /** Resolves when more may come. */
  async #flow(bytes: number): Promise<void> {
    const number = Math.floor(performance.now() / 1_000);
    if (this.#second.number !== number) this.#second = { number, bytes: 0 };
    this.#second.bytes += bytes;
    if (this.#second.bytes > perSecond) await pause(flowRest, undefined, { ref: false });
  }

  /** A worker that is gone gets nothing; its channel says so. */
  #send(order: ConsoleOrder): void {
    this.#channel.send(encoded(order)).catch(() => undefined);
  }
}
