import { Client } from 'undici';
import { Fault } from '../../core/errors.ts';
import { abortFault, pause, unlessAborted } from './abort.ts';
import { exchange, type ExchangeLimits, type Message, type Reply } from './exchange.ts';
import { isBroken, refusal, transportFault } from './faults.ts';
import { type Json, localPath, parseResource, textAt } from './json.ts';
import { type Authority, basicAuthority, header, logIn, plainHeaders, readable, rootPath } from './session.ts';
import { finishTask } from './tasks.ts';
import { placeOf, type Peer, type Trust, trustingConnector } from './trust.ts';

export interface Endpoint {
  /** Under which the certificate's fingerprint is kept; the address if not given. */
  readonly key?: string | undefined;
  readonly address: string;
  readonly port?: number | undefined;
  readonly username: string;
  readonly password: string;
}

export interface ServiceLimits extends ExchangeLimits {
  readonly connectTimeout: number;
  /** How long a connection and a session are kept unused, in milliseconds. */
  readonly idle: number;
}

export interface Resource {
  readonly path: string;
  readonly body: Readonly<Record<string, Json>>;
  readonly etag: string | undefined;
}

const absent = new Set([404, 405, 410, 501]);
const redirected = new Set([301, 302, 303, 307, 308]);
const maximumRedirections = 3;
const logoutTimeout = 5_000;
/** Seconds that a busy service is given before a question is put to it once more. */
const longestBusy = 5;
const never = new AbortController().signal;

/** One service: a connection that is opened when needed and kept, and a session on it. Requests go one after another. */
export class RedfishService {
  readonly endpoint: Endpoint;
  readonly peer: Peer;
  readonly where: string;
  readonly #trust: Trust;
  readonly #limits: ServiceLimits;
  readonly #opened: (service: RedfishService) => void;
  #client: Client | undefined;
  #authority: Authority | undefined;
  #login: Promise<Authority> | undefined;
  #root: Resource | undefined;
  #inFlight = 0;
  #lastUse = 0;
  #closed = false;

  constructor(endpoint: Endpoint, trust: Trust, limits: ServiceLimits, opened: (service: RedfishService) => void) {
    const { address, port = 443 } = endpoint;
    this.endpoint = endpoint;
    this.where = placeOf({ address, port });
    this.peer = { key: endpoint.key ?? this.where, address, port };
    this.#trust = trust;
    this.#limits = limits;
    this.#opened = opened;
  }

  /** The service root, which needs no account. */
  async root(signal: AbortSignal): Promise<Resource> {
    if (this.#root) return this.#root;
    let reply = await this.#exchange({ method: 'GET', path: rootPath, headers: plainHeaders }, signal);
    if (reply.status === 401) {
      const { headers } = basicAuthority(this.endpoint);
      reply = await this.#exchange({ method: 'GET', path: rootPath, headers }, signal);
    }
    if (reply.status === 404) throw new Fault('invalid', `what answers at ${this.where} is no Redfish service.`);
    this.#root = this.#resource(rootPath, reply);
    return this.#root;
  }

  async get(path: string, signal: AbortSignal): Promise<Resource> {
    return this.#resource(path, await this.#follow(path, signal));
  }

  /** A resource that may not be there. */
  async find(path: string | undefined, signal: AbortSignal): Promise<Resource | undefined> {
    if (path === undefined) return undefined;
    const reply = await this.#follow(path, signal);
    return absent.has(reply.status) ? undefined : this.#resource(path, reply);
  }

  /** Changes what was read; when it has changed since, once more on the new state. */
  async patch(resource: Resource, change: Json, signal: AbortSignal): Promise<void> {
    // Members of an expanded collection come without.
    let etag = resource.etag ?? (await this.get(resource.path, signal)).etag;
    for (let attempt = 1; ; attempt++) {
      const reply = await this.#send('PATCH', resource.path, change, etag, signal);
      if (attempt === 1 && (reply.status === 412 || reply.status === 428)) {
        etag = (await this.get(resource.path, signal)).etag ?? '*';
        continue;
      }
      return this.#finish('PATCH', resource.path, change, reply, signal);
    }
  }

  /** Sends once, whatever happens. Resolves when the service has taken the order, which may not be done yet. */
  async order(path: string, body: Json, signal: AbortSignal): Promise<Reply> {
    const reply = await this.#send('POST', path, body, undefined, signal);
    this.#check('POST', path, body, reply);
    return reply;
  }

  /** Like `order`, and waits until it is done. */
  async act(path: string, body: Json, signal: AbortSignal): Promise<void> {
    await this.#finish('POST', path, body, await this.order(path, body, signal), signal);
  }

  get idleSince(): number | undefined {
    return this.#inFlight > 0 || this.#login ? undefined : this.#lastUse;
  }

  /** Logs out and disconnects; the next request starts anew. */
  async end(): Promise<void> {
    if (this.#login) await settledWithin(this.#login, logoutTimeout);
    const session = this.#authority?.session;
    const headers = this.#authority?.headers ?? [];
    const client = this.#client;
    this.#authority = undefined;
    this.#client = undefined;
    if (!client) return;
    if (session === undefined) return client.destroy();
    // What still runs on the connection would hold up the logout.
    if (this.#inFlight > 0) await client.destroy(new Fault('unavailable', 'the connection was given up.'));
    let line = this.#inFlight > 0 || client.destroyed ? this.#newClient() : client;
    const limits = { ...this.#limits, requestTimeout: logoutTimeout };
    const message: Message = { method: 'DELETE', path: session, headers };
    try {
      await exchange(line, message, limits, never);
    } catch (error) {
      if (!isBroken(error)) return;
      await line.destroy();
      line = this.#newClient();
      await exchange(line, message, limits, never).catch(() => undefined);
    } finally {
      await line.destroy();
    }
  }

  /** The service has moved: its session goes on, and is closed, at the new address. */
  async handOver(moved: RedfishService): Promise<void> {
    moved.#authority ??= this.#authority;
    this.#authority = undefined;
    await this.end();
  }

  /** Like `end`, for good. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.end();
  }

  async #follow(path: string, signal: AbortSignal): Promise<Reply> {
    let reply = await this.#send('GET', path, undefined, undefined, signal);
    for (let i = 0; i < maximumRedirections && redirected.has(reply.status); i++) {
      const next = localPath(header(reply, 'location'));
      if (next === undefined) break;
      reply = await this.#send('GET', next, undefined, undefined, signal);
    }
    return reply;
  }

  /** With an account; a session that has expired is opened once more, since a refused request has done nothing. */
  async #send(
    method: Message['method'],
    path: string,
    body: Json,
    etag: string | undefined,
    signal: AbortSignal,
  ): Promise<Reply> {
    const authority = this.#authority ?? (await this.#authenticate(signal));
    const reply = await this.#exchange(messageOf(method, path, body, etag, authority), signal);
    if (reply.status !== 401 || authority.session === undefined) return reply;
    if (this.#authority === authority) this.#authority = undefined;
    return this.#exchange(messageOf(method, path, body, etag, await this.#authenticate(signal)), signal);
  }

  /** The login is nobody's own: one that a caller gave up would leave a session that nobody knows. */
  #authenticate(signal: AbortSignal): Promise<Authority> {
    if (this.#authority) return Promise.resolve(this.#authority);
    if (signal.aborted) return Promise.reject(abortFault(signal));
    this.#login ??= this.#logIn().finally(() => {
      this.#login = undefined;
    });
    return unlessAborted(this.#login, signal);
  }

  async #logIn(): Promise<Authority> {
    const { body } = await this.root(never);
    this.#authority = await logIn(this.endpoint, body, (message) => this.#exchange(message, never));
    return this.#authority;
  }

  async #exchange(message: Message, signal: AbortSignal): Promise<Reply> {
    this.#inFlight++;
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          const reply = await exchange(this.#line(), message, this.#limits, signal);
          const wait = attempt === 1 && message.method === 'GET' ? busyFor(reply) : undefined;
          if (wait === undefined) return reply;
          await pause(wait, signal);
        } catch (error) {
          // A service may close a kept connection at the moment it is used; what only reads is then asked again.
          const again = attempt === 1 && message.method === 'GET' && isBroken(error) && !this.#closed;
          if (!again) throw transportFault(error, this.where);
        }
      }
    } finally {
      this.#inFlight--;
      this.#lastUse = performance.now();
    }
  }

  #line(): Client {
    if (this.#client) return this.#client;
    if (this.#closed) throw new Fault('unavailable', 'the server is stopping.');
    this.#client = this.#newClient();
    this.#opened(this);
    return this.#client;
  }

  #newClient(): Client {
    return new Client(`https://${this.where}`, {
      connect: trustingConnector(this.peer, this.#trust, this.#limits.connectTimeout),
      keepAliveTimeout: this.#limits.idle * 2,
    });
  }

  #resource(path: string, reply: Reply): Resource {
    this.#check('GET', path, undefined, reply);
    const body = parseResource(reply.bytes, `what its service processor answered to GET ${path}`);
    return { path, body, etag: header(reply, 'etag') ?? textAt(body, '@odata.etag') };
  }

  async #finish(method: string, path: string, body: Json, reply: Reply, signal: AbortSignal): Promise<void> {
    this.#check(method, path, body, reply);
    const monitor = reply.status === 202 ? localPath(header(reply, 'location')) : undefined;
    if (monitor !== undefined) await finishTask((at) => this.#follow(at, signal), monitor, `${method} ${path}`, signal);
  }

  #check(method: string, path: string, body: Json, reply: Reply): void {
    if (reply.status >= 200 && reply.status < 300) return;
    const { username, password } = this.endpoint;
    const secrets = [password, textAt(body, 'Password') ?? ''];
    throw refusal({ method, path, username, secrets }, reply.status, readable(reply), header(reply, 'retry-after'));
  }
}

/** Milliseconds after which a service that is busy may be asked again; undefined if it is not, or for too long. */
function busyFor(reply: Reply): number | undefined {
  if (reply.status !== 503 && reply.status !== 429) return undefined;
  const seconds = Number(header(reply, 'retry-after') ?? 1);
  return seconds >= 0 && seconds <= longestBusy ? seconds * 1_000 : undefined;
}

async function settledWithin(work: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work.catch(() => undefined), late]);
  clearTimeout(timer);
}

function messageOf(
  method: Message['method'],
  path: string,
  body: Json,
  etag: string | undefined,
  authority: Authority,
): Message {
  if (body === undefined) return { method, path, headers: authority.headers };
  const headers = [...authority.headers, 'content-type', 'application/json'];
  if (etag !== undefined) headers.push('if-match', etag);
  return { method, path, headers, body: JSON.stringify(body) };
}
