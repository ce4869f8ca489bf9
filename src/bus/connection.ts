import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { NatsConnection, TlsOptions } from '@nats-io/transport-node';
import { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';

export interface BusAccess {
  readonly servers: readonly string[];
  /** Files. */
  readonly ca: string;
  readonly credentials: string;
  /** As NATS lists the connection. */
  readonly name: string;
}

type Handler = (subject: string, data: Uint8Array) => void;

/** Milliseconds. */
const connectTimeout = 5_000;
const retryAfter = 1_000;
/** Twice without an answer, and the connection counts as broken. */
const pingEvery = 2_000;

/**
 * A connection to NATS that is made again whenever it breaks. What is published without one is dropped: whoever needs an answer sends
 * it again (`channel.ts`), and nothing old arrives later by surprise.
 */
export class Bus {
  readonly #access: BusAccess;
  readonly #log: Logger;
  readonly #handlers = new Map<string, Handler>();
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  #connection: NatsConnection | undefined;
  #problem: string | undefined = 'No connection to NATS has been made yet.';

  /** Files that cannot be read are refused at once; a NATS server that is away is waited for. */
  constructor(access: BusAccess, log: Logger) {
    this.#access = access;
    this.#log = log;
    const seed = readSeed(access.credentials);
    const ca = readAuthority(access.ca);
    this.#running = this.#run(seed, ca);
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
      this.#connection.publish(subject, data);
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

  async #run(seed: Uint8Array, ca: string): Promise<void> {
    const { signal } = this.#stopped;
    const { servers } = this.#access;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        const connection = await this.#connect(new URL(servers[attempt % servers.length]!), seed, ca);
        if (signal.aborted) await connection.close();
        await this.#use(connection);
      } catch (error) {
        this.#broken(error as Error);
      }
      await pause(retryAfter, undefined, { signal }).catch(() => undefined);
    }
  }

  async #connect({ hostname, port }: URL, seed: Uint8Array, ca: string): Promise<NatsConnection> {
    // Only servers with a bus load it.
    const { connect, nkeyAuthenticator } = await import('@nats-io/transport-node');
    const options: TlsOptions & { readonly host: string } = {
      ca,
      // What its certificate must be for, if it is an address; names it knows by itself.
      host: hostname.replace(/^\[|\]$/g, ''),
    };
    return connect({
      servers: port === '' ? hostname : `${hostname}:${port}`,
      name: this.#access.name,
      tls: options,
      authenticator: nkeyAuthenticator(seed),
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
    this.#log.info(`connected to NATS at ${connection.getServer()}`);
    void this.#watch(connection);
    const error = await connection.closed();
    this.#connection = undefined;
    if (!this.#stopped.signal.aborted) this.#broken(error ?? new Error('the connection was closed'));
  }

  #listen(connection: NatsConnection, subject: string, handler: Handler): void {
    connection.subscribe(subject, {
      callback: (error, message) => {
        if (error) this.#log.error({ err: error }, `NATS does not let ${this.#access.name} read ${subject}`);
        else this.#handle(handler, message.subject, message.data);
      },
    });
  }

  /** What is thrown here would end the connection. */
  #handle(handler: Handler, subject: string, data: Uint8Array): void {
    try {
      handler(subject, data);
    } catch (error) {
      this.#log.error({ err: error }, `a message on ${subject} could not be worked on`);
    }
  }

  /** NATS reports what it does not permit only here. */
  async #watch(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status())
      if (status.type === 'error') this.#log.error({ err: status.error }, 'NATS refused something');
  }

  #broken(error: Error): void {
    const servers = this.#access.servers.join(', ');
    const problem = `There is no connection to NATS (${servers}): ${reasonOf(error)}.`;
    if (problem !== this.#problem) this.#log.error(problem);
    this.#problem = problem;
  }
}

/** The cause says what the outer error only hints at. */
function reasonOf(error: Error): string {
  const cause = error.cause instanceof Error ? reasonOf(error.cause) : undefined;
  const text = cause !== undefined && !error.message.includes(cause) ? `${error.message}: ${cause}` : error.message;
  return text.toLowerCase().includes('authorization') || text.toLowerCase().includes('authentication')
    ? `NATS does not accept the key in the file of the setting bus.credentials (${text})`
    : text;
}

function readSeed(file: string): Uint8Array {
  const text = readOrRefuse(file, 'The key for NATS').trim();
  if (!/^SU[A-Z2-7]{56}$/.test(text))
    throw new Fault(
      'invalid',
      `${file} does not hold the seed of an nkey. Make the keys with muster bus-config, and copy the file from there.`,
    );
  return new TextEncoder().encode(text);
}

const readAuthority = (file: string): string => readOrRefuse(file, 'The certificate authority of NATS');

function readOrRefuse(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Fault('invalid', [
      `${what} cannot be read: ${(error as Error).message}.`,
      'Make the files of the bus with muster bus-config on the server, and copy those of a worker to it.',
    ]);
  }
}
