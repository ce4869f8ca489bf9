import { setTimeout as pause } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Logger } from '../core/log.ts';
import { type Login, readLogin, readOrRefuse } from './login.ts';
import type { Seals } from './seals.ts';
import { isWithin, workerOf } from './subjects.ts';
import { GuardedTransport } from './transport.ts';

export interface BusAccess {
  readonly servers: readonly string[];
  /** Files. */
  readonly ca: string;
  readonly credentials: string;
  /** The worker that this is; absent: a server. */
  readonly worker?: string;
}

type Handler = (subject: string, data: Uint8Array) => void;

/** Milliseconds. */
const connectTimeout = 5_000;
const retryAfter = 1_000;
/** Twice without an answer, and the connection counts as broken. */
const pingEvery = 2_000;
/** Milliseconds in which the same is logged so often at most: whoever disturbs does not fill the log. */
const logEvery = 60_000;
const mostLogged = 5;

/**
 * A connection to NATS that is made again whenever it breaks. What is published without one is dropped: whoever needs an answer sends
 * it again (`channel.ts`), and nothing old arrives later by surprise.
 */
export class Bus {
  readonly #access: BusAccess;
  readonly #log: Logger;
  readonly #seals: Seals;
  /** As NATS lists the connection, and the log. */
  readonly #name: string;
  readonly #logged = new Map<string, number[]>();
  readonly #handlers = new Map<string, Handler>();
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  #connection: NatsConnection | undefined;
  #problem: string | undefined = 'No connection to NATS has been made yet.';

  /** Files that cannot be read are refused at once; a NATS server that is away is waited for. */
  constructor(access: BusAccess, log: Logger) {
    this.#access = access;
    this.#log = log;
    this.#name = access.worker === undefined ? 'muster server' : `muster worker ${access.worker}`;
    const login = readLogin(access.credentials, access.worker);
    this.#seals = login.seals;
    this.#running = this.#run(login, readOrRefuse(access.ca, 'The certificate authority of NATS'));
  }

  /** What is wrong, in a sentence. */
  get problem(): string | undefined {
    return this.#problem;
  }

  subscribe(subject: string, handler: Handler): void {
    this.#handlers.set(subject, handler);
    if (this.#connection) this.#listen(this.#connection, subject, handler);
  }

  publish(subject: string, data: Uint8Array): void {
    if (!this.#connection || this.#connection.isClosed()) return;
    try {
      this.#connection.publish(subject, workerOf(subject) === undefined ? data : this.#seals.seal(subject, data));
    } catch (error) {
      // It may have broken just now, or NATS takes smaller messages only.
      this.#broken(error as Error);
    }
  }

  /** Resolves when NATS has what was published. */
  async flush(): Promise<void> {
    await this.#connection?.flush();
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#connection?.close();
    await this.#running;
  }

  async #run(login: Login, ca: string): Promise<void> {
    const { signal } = this.#stopped;
    const { servers } = this.#access;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        const connection = await this.#connect(new URL(servers[attempt % servers.length]!), login, ca);
        if (signal.aborted) await connection.close();
        await this.#use(connection);
      } catch (error) {
        this.#broken(error as Error);
      }
      await pause(retryAfter, undefined, { signal }).catch(() => undefined);
    }
  }

  async #connect({ hostname, port }: URL, { seed }: Login, ca: string): Promise<NatsConnection> {
    // Only servers with a bus load it.
    const { NatsConnectionImpl, nkeyAuthenticator, setTransportFactory } = await import('@nats-io/transport-node');
    setTransportFactory({ factory: () => new GuardedTransport(ca) });
    return NatsConnectionImpl.connect({
      servers: port === '' ? hostname : `${hostname}:${port}`,
      name: this.#name,
      authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)),
      reconnect: false,
      ignoreClusterUpdates: true,
      timeout: connectTimeout,
      pingInterval: pingEvery,
      maxPingOut: 2,
      noAsyncTraces: true,
    });
  }

  /** Until it is closed. */
  async #use(connection: NatsConnection): Promise<void> {
    this.#connection = connection;
    for (const [subject, handler] of this.#handlers) this.#listen(connection, subject, handler);
    this.#problem = undefined;
    if (this.#mayLog('connected')) this.#log.info(`connected to NATS at ${connection.getServer()}`);
    void this.#watch(connection);
    const error = await connection.closed();
    this.#connection = undefined;
    if (!this.#stopped.signal.aborted) this.#broken(error ?? new Error('the connection was closed'));
  }

  #listen(connection: NatsConnection, subscription: string, handler: Handler): void {
    connection.subscribe(subscription, {
      callback: (error, message) => {
        if (error) {
          if (this.#mayLog('subscription'))
            this.#log.error({ err: error }, `NATS does not let ${this.#name} read ${subscription}`);
        } else this.#receive(handler, subscription, message.subject, message.data);
      },
    });
  }

  /** Only what was made for this subject by somebody who has the key, and is within what was asked for. */
  #receive(handler: Handler, subscription: string, subject: string, data: Uint8Array): void {
    const isOpen = workerOf(subject) === undefined;
    const message = isWithin(subject, subscription) ? (isOpen ? data : this.#seals.open(subject, data)) : undefined;
    if (message) this.#handle(handler, subject, message);
    else if (this.#mayLog('unsealed'))
      this.#log.warn(
        `A message on ${JSON.stringify(subject.slice(0, 200))} is dropped: it is not sealed as this version of muster does it. If it comes from a worker, install the version of the server there, run muster bus-config again, and copy the file of that worker to it.`,
      );
  }

  /** What is thrown here would end the connection. */
  #handle(handler: Handler, subject: string, data: Uint8Array): void {
    try {
      handler(subject, data);
    } catch (error) {
      if (this.#mayLog('handler')) this.#log.error({ err: error }, `a message on ${subject} could not be worked on`);
    }
  }

  /** NATS reports what it does not permit only here. */
  async #watch(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status())
      if (status.type === 'error' && this.#mayLog('refused'))
        this.#log.error({ err: status.error }, 'NATS refused something');
  }

  #broken(error: Error): void {
    const servers = this.#access.servers.join(', ');
    const problem = `There is no connection to NATS (${servers}): ${reasonOf(error)}.`;
    if (problem !== this.#problem && this.#mayLog('broken')) this.#log.error(problem);
    this.#problem = problem;
  }

  #mayLog(what: string): boolean {
    const now = performance.now();
    const lately = (this.#logged.get(what) ?? []).filter((at) => now - at < logEvery);
    this.#logged.set(what, lately);
    return lately.length < mostLogged && lately.push(now) > 0;
  }
}

/** The cause says what the outer error only hints at. */
function reasonOf(error: Error): string {
  const cause = error.cause instanceof Error ? reasonOf(error.cause) : undefined;
  if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return 'connection refused';
  const text = cause !== undefined && !error.message.includes(cause) ? `${error.message}: ${cause}` : error.message;
  return text.toLowerCase().includes('authorization') || text.toLowerCase().includes('authentication')
    ? `NATS does not accept the key in the file of the setting bus.credentials (${text})`
    : text;
}
