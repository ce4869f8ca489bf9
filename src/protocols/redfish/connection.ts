import type { Client } from 'undici';
import { Fault, Unreachable } from '../../core/errors.ts';
import { formatListen } from '../../core/host-address.ts';
import type { Pace } from '../../core/pace.ts';
import { abortFault, pause, unlessAborted } from './abort.ts';
import { exchange, type ExchangeLimits, type Message, type Reply, type Upload } from './exchange.ts';
import { type Followed, NotStreamed, openStream } from './event-stream.ts';
import { type Attempt, closedPlain, isBroken, Refusal, refusal, transportFault } from './faults.ts';
import type { Handshakes } from './handshakes.ts';
import { Identity } from './identity.ts';
import type { Json } from './json.ts';
import { type Resource, resourceIn } from './resource.ts';
import type { ErrandLimits } from './service.ts';
import {
  type Authority,
  basicAuthority,
  header,
  logIn,
  type LoginBrake,
  plainHeaders,
  readable,
  rootPath,
} from './session.ts';
import { type Peer, plainConnector, portOf, type Transport, type Trust, trustingConnector } from './trust.ts';

export interface Endpoint {
  /** Under which the certificate's fingerprint is kept; the address if not given. */
  readonly key?: string | undefined;
  readonly address: string;
  readonly port?: number | undefined;
  /** By default TLS that is up to date. */
  readonly transport?: Transport | undefined;
  readonly username: string;
  readonly password: string;
}

export interface ServiceLimits extends ExchangeLimits, ErrandLimits {
  readonly connectTimeout: number;
  /** How long a connection and a session are kept unused, in milliseconds. */
  readonly idle: number;
}

export interface Request {
  readonly method: Message['method'];
  readonly path: string;
  readonly body?: Json;
  readonly etag?: string | undefined;
  readonly large?: boolean;
}

/** Something large that a service is given, with what it is. */
export interface Push {
  readonly path: string;
  readonly type: string;
  readonly upload: Upload;
}

export interface Surroundings {
  readonly trust: Trust;
  readonly limits: ServiceLimits;
  readonly brake: LoginBrake;
  /** Of opening connections, to all services together. */
  readonly pace: Pace;
  readonly handshakes: Handshakes;
  /** Called whenever a connection is opened. */
  opened(connection: Connection): void;
}

const logoutTimeout = 5_000;
/** Milliseconds that a busy service is waited for, all waits of one question together. */
const longestBusy = 30_000;
/** How often a question is put once more to a service that closes connections without a word. */
const mostClosings = 3;
const never = new AbortController().signal;

/**
 * To one service with one account, for all nodes behind it: opened when needed and kept, with a session on it. Requests go one
 * after another. A service that does not answer one of them is given up, and whatever waits behind fails with it.
 */
export class Connection {
  readonly endpoint: Endpoint;
  readonly where: string;
  readonly #around: Surroundings;
  readonly #identity: Identity;
  /** The nodes that have requests here, with how many. */
  readonly #asking = new Map<string, number>();
  #client: Client | undefined;
  #authority: Authority | undefined;
  #login: Promise<Authority> | undefined;
  #root: Resource | undefined;
  #peer: Peer | undefined;
  /** Connections of events that go on. */
  readonly #streams = new Set<Client>();
  #inFlight = 0;
  #lastUse = performance.now();
  #closed = false;

  constructor(endpoint: Endpoint, around: Surroundings) {
    this.endpoint = endpoint;
    this.where = formatListen({ host: endpoint.address, port: portOf(endpoint) });
    this.#around = around;
    this.#identity = new Identity(this.where, around.trust);
  }

  /** The service root, which needs no account. Without one, asking for it is how to find out whether the service is there. */
  async root(key: string, signal: AbortSignal): Promise<Resource> {
    if (this.#root) return this.#root;
    const anonymous = this.endpoint.username === '';
    let reply = await this.#exchange(key, { method: 'GET', path: rootPath, headers: plainHeaders }, signal);
    if (reply.status === 401 && !anonymous) {
      this.#around.brake.check(this.where, this.endpoint);
      const { headers } = basicAuthority(this.endpoint);
      reply = await this.#exchange(key, { method: 'GET', path: rootPath, headers }, signal);
      if (reply.status === 401) throw this.#refused(rootPath, reply);
    }
    if (reply.status === 404) throw new Fault('invalid', `what answers at ${this.where} is not a Redfish service.`);
    if (reply.status >= 300)
      throw refusal(this.#attempt(rootPath), reply.status, readable(reply), header(reply, 'retry-after'));
    const root = resourceIn(rootPath, reply);
    if (!anonymous) this.#root = root;
    return root;
  }

  /** With an account; a session that has expired is opened once more, since a refused request has done nothing. */
  async send(key: string, request: Request, signal: AbortSignal): Promise<Reply> {
    const authority = this.#authority ?? (await this.#authenticate(key, signal));
    const reply = await this.#exchange(key, messageOf(request, authority), signal);
    if (reply.status !== 401) return reply;
    if (this.#authority === authority) this.#authority = undefined;
    if (authority.session === undefined) throw this.#refused(request.path, reply);
    const fresh = await this.#authenticate(key, signal);
    return this.#exchange(key, messageOf(request, fresh), signal);
  }

  /** As it was when it was last connected to; undefined: without TLS. */
  get peer(): Peer | undefined {
    return this.#peer;
  }

  /** Further requests go over a new connection. Those under way still have their answers. */
  reconnect(): void {
    const line = this.#client;
    this.#client = undefined;
    this.#identity.forget();
    void line?.close();
  }

  /** Like `send`, once, on a connection of its own: what else is asked of the service does not wait until it has taken everything. */
  async push(key: string, { path, type, upload }: Push, signal: AbortSignal): Promise<Reply> {
    const authority = this.#authority ?? (await this.#authenticate(key, signal));
    const sizes = ['content-type', type, 'content-length', String(upload.size)];
    const message: Message = { method: 'POST', path, headers: [...authority.headers, ...sizes], body: upload };
    const line = await this.#newClient();
    const over = this.#beginRequest(key);
    try {
      if (!this.#identity.isSettled(key)) await this.#identity.accept(key);
      return await exchange(line, message, this.#around.limits, signal);
    } catch (error) {
      throw transportFault(error, this.where);
    } finally {
      over();
      await line.destroy();
    }
  }

  /**
   * Opens a connection of its own for events as they come. Resolves when they have begun; the session is kept until they end.
   */
  async follow(key: string, path: string, take: (data: Buffer) => void, signal: AbortSignal): Promise<Followed> {
    for (let isAgain = false; ; isAgain = true) {
      const authority = this.#authority ?? (await this.#authenticate(key, signal));
      try {
        return await this.#stream(key, path, authority, take, signal);
      } catch (error) {
        const isExpired = error instanceof NotStreamed && error.status === 401 && authority.session !== undefined;
        if (!isExpired || isAgain) throw transportFault(error, this.where);
        if (this.#authority === authority) this.#authority = undefined;
      }
    }
  }

  async #stream(
    key: string,
    path: string,
    authority: Authority,
    take: (data: Buffer) => void,
    signal: AbortSignal,
  ): Promise<Followed> {
    const over = this.#beginRequest(key);
    let line: Client | undefined;
    const close = (): void => {
      over();
      if (line) this.#streams.delete(line);
      if (line && !line.destroyed) void line.destroy();
    };
    try {
      if (!this.#identity.isSettled(key)) await this.#identity.accept(key);
      line = await this.#newClient();
      if (this.#closed) throw new Fault('unavailable', 'muster is shutting down; try again shortly.');
      this.#streams.add(line);
      const headers = ['accept', 'text/event-stream', ...authority.headers.slice(2)];
      const timeout = this.#around.limits.requestTimeout;
      const followed = await openStream(line, { path, headers, timeout, take }, signal);
      void followed.ended.then(close);
      return followed;
    } catch (error) {
      close();
      throw error;
    }
  }

  /** What must not come back in the service's own words. */
  get secrets(): readonly string[] {
    const { username, password } = this.endpoint;
    const token = this.#authority?.session === undefined ? undefined : this.#authority.headers.at(-1);
    return [password, Buffer.from(`${username}:${password}`).toString('base64'), token ?? ''];
  }

  get idleSince(): number | undefined {
    return this.#inFlight > 0 || this.#login ? undefined : this.#lastUse;
  }

  /** Logs out and disconnects; the next request connects again. */
  async end(): Promise<void> {
    if (this.#login) await unlessAborted(this.#login, AbortSignal.timeout(logoutTimeout)).catch(() => undefined);
    const session = this.#authority?.session;
    const headers = this.#authority?.headers ?? [];
    const client = this.#client;
    for (const stream of this.#streams) void stream.destroy();
    this.#authority = undefined;
    this.#client = undefined;
    this.#root = undefined;
    if (session === undefined) return client?.destroy();
    // What still runs on the connection would hold up the logout.
    if (client && this.#inFlight > 0) await client.destroy(new Fault('unavailable', 'the connection was given up.'));
    let line = client && !client.destroyed ? client : await this.#newClient();
    const limits = { ...this.#around.limits, requestTimeout: logoutTimeout };
    const message: Message = { method: 'DELETE', path: session, headers };
    try {
      await exchange(line, message, limits, never);
    } catch (error) {
      if (!isBroken(error)) return;
      await line.destroy();
      line = await this.#newClient();
      await exchange(line, message, limits, never).catch(() => undefined);
    } finally {
      await line.destroy();
    }
  }

  /** The service has moved: its session goes on, and is closed, at the new address. */
  async handOver(moved: Connection): Promise<void> {
    moved.#authority ??= this.#authority;
    this.#authority = undefined;
    await this.end();
  }

  /** Like `end`, for good. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.end();
  }

  /** The login is nobody's own: one that a caller gave up would leave a session that nobody knows. */
  #authenticate(key: string, signal: AbortSignal): Promise<Authority> {
    if (this.#authority) return Promise.resolve(this.#authority);
    if (signal.aborted) return Promise.reject(abortFault(signal));
    this.#login ??= this.#logIn(key).finally(() => {
      this.#login = undefined;
    });
    return unlessAborted(this.#login, signal);
  }

  async #logIn(key: string): Promise<Authority> {
    this.#around.brake.check(this.where, this.endpoint);
    const { body } = await this.root(key, never);
    try {
      this.#authority = await logIn(this.endpoint, body, (message) => this.#exchange(key, message, never));
      return this.#authority;
    } catch (error) {
      const refused = error instanceof Refusal && (error.status === 401 || error.status === 403);
      if (refused) this.#around.brake.note(this.where, this.endpoint, error);
      throw error;
    }
  }

  /** The password itself was sent with a request and not accepted. */
  #refused(path: string, reply: Reply): Refusal {
    const fault = refusal(this.#attempt(path), reply.status, readable(reply), undefined);
    this.#around.brake.note(this.where, this.endpoint, fault);
    return fault;
  }

  #attempt(path: string): Attempt {
    return { method: 'GET', path, username: this.endpoint.username, secrets: this.secrets };
  }

  async #exchange(key: string, message: Message, signal: AbortSignal): Promise<Reply> {
    const over = this.#beginRequest(key);
    try {
      if (!this.#identity.isSettled(key)) await this.#identity.accept(key);
      const isReading = message.method === 'GET';
      for (let closings = 0, timeLeft = isReading ? longestBusy : 0; ; ) {
        const line = await this.#line();
        try {
          const reply = await exchange(line, message, this.#around.limits, signal);
          const wait = busyFor(reply);
          if (wait === undefined || wait > timeLeft) return reply;
          timeLeft -= Math.max(wait, leastWait);
          await pause(wait, signal);
        } catch (error) {
          // A service may close a kept connection at the moment it is used; what only reads is then asked again.
          const again = isReading && closings++ < mostClosings && isBroken(error) && !this.#closed;
          if (!again) throw this.#failed(line, error);
        }
      }
    } finally {
      over();
    }
  }

  /** Returns what is called when it is over. */
  #beginRequest(key: string): () => void {
    this.#inFlight++;
    this.#asking.set(key, (this.#asking.get(key) ?? 0) + 1);
    return () => {
      const left = this.#asking.get(key)! - 1;
      if (left === 0) this.#asking.delete(key);
      else this.#asking.set(key, left);
      this.#inFlight--;
      this.#lastUse = performance.now();
    };
  }

  /** One that does not answer must not be waited for once more by each request behind. The session may still be there later. */
  #failed(line: Client, error: unknown): Fault {
    const isPlain = this.endpoint.transport === 'http';
    const fault = isPlain && isBroken(error) ? closedPlain(this.where, error) : transportFault(error, this.where);
    if (fault instanceof Unreachable) {
      this.#root = undefined;
      if (this.#client === line) this.#client = undefined;
      if (!line.destroyed) void line.destroy(fault);
    }
    return fault;
  }

  async #line(): Promise<Client> {
    if (this.#client) return this.#client;
    const line = await this.#newClient();
    // Another request may have opened one meanwhile. This one has not connected yet.
    if (this.#client) return this.#client;
    if (this.#closed) throw new Fault('unavailable', 'muster is shutting down; try again shortly.');
    this.#client = line;
    line.on('disconnect', () => {
      if (this.#client === line) this.#identity.forget();
    });
    this.#around.opened(this);
    return line;
  }

  async #newClient(): Promise<Client> {
    const { Client } = await import('undici');
    const { address: host, transport = 'tls' } = this.endpoint;
    const { trust, limits, pace, handshakes } = this.#around;
    const waiting = { timeout: limits.connectTimeout, pace, handshakes };
    const at = { host, port: portOf(this.endpoint) };
    const accept = (shown: string) => this.#identity.show(shown, this.#asking.keys());
    const seen = (peer: Peer): void => void (this.#peer = peer);
    const isPlain = transport === 'http';
    return new Client(`${isPlain ? 'http' : 'https'}://${this.where}`, {
      connect: isPlain
        ? plainConnector(at, waiting)
        : trustingConnector(at, transport, trust.ca, waiting, accept, seen),
      keepAliveTimeout: limits.idle * 2,
    });
  }
}

/** A wait counts as no less, so that a service that says `Retry-After: 0` is not asked for ever. */
const leastWait = 5_000;

/** Milliseconds after which a service that is busy may be asked again; undefined if it is not, or does not say when. */
function busyFor(reply: Reply): number | undefined {
  if (reply.status !== 503 && reply.status !== 429) return undefined;
  const seconds = Number(header(reply, 'retry-after') ?? 1);
  return seconds >= 0 ? seconds * 1_000 : undefined;
}

function messageOf({ method, path, body, etag, large }: Request, authority: Authority): Message {
  if (body === undefined) {
    const headers = etag === undefined ? authority.headers : [...authority.headers, 'if-match', etag];
    return { method, path, headers, large };
  }
  const headers = [...authority.headers, 'content-type', 'application/json'];
  if (etag !== undefined) headers.push('if-match', etag);
  return { method, path, headers, body: JSON.stringify(body) };
}
