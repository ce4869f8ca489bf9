import { Fault } from '../../core/errors.ts';
import { pause } from './abort.ts';
import { collectionIn, isSameIn, isSet, type Resource } from './resource.ts';
import type { Connection, Endpoint, Push, Request } from './connection.ts';
import type { ExchangeLimits, Reply } from './exchange.ts';
import type { Followed } from './event-stream.ts';
import { messagesOf, refusal, type Remark, remarksIn, scrub } from './faults.ts';
import { type Json, listAt, localPath, textAt } from './json.ts';
import { messageText } from './message.ts';
import { Repeated } from './repeated.ts';
import type { Peer } from './trust.ts';
import { unpacked } from './unpacked.ts';
import { header, readable } from './session.ts';

export type { Endpoint } from './connection.ts';
export type { Resource } from './resource.ts';

const absent = new Set([404, 405, 410, 501]);
const redirected = new Set([301, 302, 303, 307, 308]);
const maximumRedirections = 3;
/** The resource is not as it was when it was read, or the service wants to hear how it was. */
const outdated = new Set([412, 428]);

/** A service as one node uses it; nodes with the same service and account share its connection. */
export class RedfishService {
  readonly endpoint: Endpoint;
  readonly #key: string;
  readonly #limits: RequestLimits;
  readonly #connection: () => Connection;
  #errand: Errand | undefined;
  readonly #repeated = new Repeated();

  constructor(endpoint: Endpoint, key: string, limits: RequestLimits, connection: () => Connection) {
    this.endpoint = endpoint;
    this.#key = key;
    this.#limits = limits;
    this.#connection = connection;
  }

  /** Begins a command, whose bytes and time are bounded; it may wait so many milliseconds for hardware besides. */
  begin(waiting: number): void {
    this.#errand = new Errand(this.#limits, waiting);
  }

  /** What the service has shown of itself; undefined: it is reached without TLS. */
  get peer(): Peer | undefined {
    return this.#connection().peer;
  }

  async root(signal: AbortSignal): Promise<Resource> {
    return this.#connection().root(this.#key, signal);
  }

  async get(path: string, signal: AbortSignal): Promise<Resource> {
    return this.#resource(path, await this.#follow({ method: 'GET', path }, signal));
  }

  /** A resource that may not be there. A collection may be larger than others. */
  async find(path: string | undefined, signal: AbortSignal, kind?: 'collection'): Promise<Resource | undefined> {
    if (path === undefined) return undefined;
    const large = kind === 'collection';
    const reply = await this.#follow({ method: 'GET', path, large }, signal);
    if (absent.has(reply.status)) return undefined;
    if (!large) return this.#resource(path, reply);
    this.#check('GET', path, undefined, reply);
    return collectionIn(path, reply, signal);
  }

  /** The bytes of a document that may be as large as a collection; undefined if it is not there. */
  async document(path: string, signal: AbortSignal): Promise<Buffer | undefined> {
    const reply = await this.#follow({ method: 'GET', path, large: true }, signal);
    if (absent.has(reply.status)) return undefined;
    this.#check('GET', path, undefined, reply);
    return unpacked(reply.bytes, path, this.#limits.collectionSize);
  }

  /** Changes what was read. If it has changed since, tries once more, unless somebody else has changed the same members. */
  async patch(resource: Resource, change: Json, signal: AbortSignal): Promise<void> {
    const reply = await this.#patch(resource, change, signal);
    if (reply) await this.#finish('PATCH', resource.path, change, reply, signal);
  }

  /** Like `patch`, without waiting for work that may begin much later. Resolves with what the service says of single properties. */
  async submit(resource: Resource, change: Json, signal: AbortSignal): Promise<readonly Remark[]> {
    const reply = await this.#patch(resource, change, signal);
    if (!reply) return [];
    this.#check('PATCH', resource.path, change, reply);
    return remarksIn(readable(reply), this.#secrets(change));
  }

  /** Resolves with the answer to the change, or undefined if all is so already. */
  async #patch(resource: Resource, change: Json, signal: AbortSignal): Promise<Reply | undefined> {
    const { path } = resource;
    // Members of an expanded collection come without an ETag.
    const known = resource.etag === undefined ? await this.get(path, signal) : resource;
    refuseForeign(resource, known, change);
    const reply = await this.#send({ method: 'PATCH', path, body: change, etag: known.etag }, signal);
    if (!outdated.has(reply.status)) return reply;
    const now = await this.get(path, signal);
    if (isSet(now.body, change)) return undefined;
    refuseForeign(resource, now, change);
    const second = await this.#send({ method: 'PATCH', path, body: change, etag: now.etag ?? '*' }, signal);
    if (!outdated.has(second.status)) return second;
    throw new Fault(
      'invalid',
      `its BMC refused to change ${path} twice, because it had changed since it was read (${second.status}); ` +
        'nothing was changed, try again later.',
    );
  }

  /** Removes what was read. A service that demands its ETag gets it. */
  async remove(resource: Resource, signal: AbortSignal): Promise<void> {
    const { path } = resource;
    let reply = await this.#send({ method: 'DELETE', path }, signal);
    if (outdated.has(reply.status)) {
      const { etag } = await this.get(path, signal);
      reply = await this.#send({ method: 'DELETE', path, etag: etag ?? '*' }, signal);
    }
    await this.#finish('DELETE', path, undefined, reply, signal);
  }

  /** Sends once, whatever happens. Resolves when the service has taken the order, which may not be done yet. */
  async order(path: string, body: Json, signal: AbortSignal): Promise<Reply> {
    const reply = await this.#send({ method: 'POST', path, body }, signal);
    this.#check('POST', path, body, reply);
    return reply;
  }

  /** Hands over something large, once, whatever happens. Resolves when the service has taken it. */
  async push(push: Push, signal: AbortSignal): Promise<Reply> {
    this.#errand?.checkTime();
    const reply = await this.#connection().push(this.#key, push, signal);
    this.#check('POST', push.path, undefined, reply);
    return reply;
  }

  /** What a task monitor answers, whatever that is: it may be a task, an error of the work that it was for, or nothing. */
  async monitor(path: string, signal: AbortSignal): Promise<{ readonly status: number; readonly body: Json }> {
    const reply = await this.#follow({ method: 'GET', path }, signal);
    const { status } = reply;
    if (status === 401 || status === 403 || status === 429 || status >= 500) this.#check('GET', path, undefined, reply);
    return { status, body: readable(reply) };
  }

  /** Like `order`, and waits until it is done. */
  async act(path: string, body: Json, signal: AbortSignal): Promise<void> {
    await this.#finish('POST', path, body, await this.order(path, body, signal), signal);
  }

  /** For what comes next, a new connection is opened. */
  reconnect(): void {
    this.#connection().reconnect();
  }

  /** Events as they come, until the signal; not part of a command. Resolves when they have begun. */
  follow(path: string, take: (data: Buffer) => void, signal: AbortSignal): Promise<Followed> {
    return this.#connection().follow(this.#key, path, take, signal);
  }

  /** The service has moved: its session goes on, and is closed, at the new address. */
  async handOver(moved: RedfishService): Promise<void> {
    return this.#connection().handOver(moved.#connection());
  }

  async #follow(request: Request, signal: AbortSignal): Promise<Reply> {
    let reply = await this.#send(request, signal);
    for (let i = 0; i < maximumRedirections && redirected.has(reply.status); i++) {
      const next = localPath(header(reply, 'location'));
      if (next === undefined) break;
      reply = await this.#send({ ...request, path: next }, signal);
    }
    return reply;
  }

  /** Not async: what async functions around each other cost is a good part of a warm reading. */
  #send(request: Request, signal: AbortSignal): Promise<Reply> {
    const errand = this.#errand;
    errand?.checkTime();
    const reply = this.#connection().send(this.#key, request, signal);
    return errand ? reply.then((received) => errand.received(received)) : reply;
  }

  #resource(path: string, reply: Reply): Resource {
    this.#check('GET', path, undefined, reply);
    return this.#repeated.read(path, reply);
  }

  async #finish(method: string, path: string, body: Json, reply: Reply, signal: AbortSignal): Promise<void> {
    this.#check(method, path, body, reply);
    const monitor = reply.status === 202 ? localPath(header(reply, 'location')) : undefined;
    if (monitor === undefined) return;
    const clean = (words: string): string => scrub(words, this.#secrets(body));
    await finishTask(
      (at) => this.#follow({ method: 'GET', path: at }, signal),
      monitor,
      `${method} ${path}`,
      clean,
      signal,
    );
  }

  #check(method: string, path: string, body: Json, reply: Reply): void {
    if (reply.status >= 200 && reply.status < 300) return;
    const { username } = this.endpoint;
    const attempt = { method, path, username, secrets: this.#secrets(body) };
    throw refusal(attempt, reply.status, readable(reply), header(reply, 'retry-after'));
  }

  #secrets(body: Json): readonly string[] {
    return [...this.#connection().secrets, ...secretsIn(body)];
  }
}

/** Fails if what the change names is neither as it was read nor as it is wanted. */
function refuseForeign(read: Resource, now: Resource, change: Json): void {
  if (read === now || isSameIn(read.body, now.body, change) || isSet(now.body, change)) return;
  throw new Fault('invalid', `somebody else has changed ${read.path} of its BMC in the meantime; try again.`);
}

/** The secrets in what we send ourselves. */
function secretsIn(body: Json): readonly string[] {
  if (typeof body !== 'object' || body === null) return [];
  return Object.entries(body).flatMap(([name, value]: [string, Json]) => {
    if (typeof value !== 'string') return secretsIn(value);
    if (/password|community/i.test(name)) return [value];
    if (name === 'CertificateString') return linesOfKey(value);
    return name === 'ImageURI' ? secretsInAddress(value) : [];
  });
}

/** A private key may go along with its certificate; a service may repeat it in pieces. */
const linesOfKey = (pem: string): readonly string[] =>
  [...pem.matchAll(/-----BEGIN [A-Z ]*PRIVATE KEY-----([^-]*)-----END/g)].flatMap(([, lines = '']) =>
    lines.split('\n').filter((line) => line.length >= 16),
  );

/** What stands behind the question mark of an address may be a signature that opens it. */
export const secretsInAddress = (address: string): readonly string[] => {
  const query = URL.parse(address)?.search ?? '';
  return query.length > 1 ? [query.slice(1)] : [];
};

export interface ErrandLimits {
  /** How long one command may go on asking a service, in milliseconds; the request under way then is still waited for. */
  readonly commandTime: number;
  /** Bytes of all answers to one command. */
  readonly commandSize: number;
}

type RequestLimits = ErrandLimits & Pick<ExchangeLimits, 'collectionSize'>;

/** One command on a service, which may be many requests: a service must not be able to make it endless. */
class Errand {
  readonly #commandSize: number;
  readonly #time: number;
  readonly #began = performance.now();
  #received = 0;

  constructor({ commandTime, commandSize }: ErrandLimits, waiting: number) {
    this.#commandSize = commandSize;
    this.#time = commandTime + waiting;
  }

  checkTime(): void {
    if (performance.now() - this.#began < this.#time) return;
    const seconds = this.#time / 1_000;
    throw new Fault('deadline', `its BMC answered, but had not answered all questions after ${seconds} s.`);
  }

  received(reply: Reply): Reply {
    this.#received += reply.bytes.length;
    if (this.#received <= this.#commandSize) return reply;
    throw new Fault('garbled', `its BMC sent more than ${this.#commandSize} bytes for one command.`);
  }
}

const firstPause = 250;
const longestPause = 5_000;
const failed = new Set(['Exception', 'Killed', 'Cancelled']);

/** Asks a task monitor (DSP0266 "Asynchronous operations") until the work is done; some services show the task itself. */
async function finishTask(
  get: (path: string) => Promise<Reply>,
  monitor: string,
  what: string,
  withoutSecrets: (words: string) => string,
  signal: AbortSignal,
): Promise<void> {
  for (let wait = firstPause; ; wait = Math.min(wait * 1.5, longestPause)) {
    const reply = await get(monitor);
    const body = readable(reply);
    const state = textAt(body, 'TaskState');
    // A monitor may be gone once its work is done.
    if (reply.status === 404 || reply.status === 410) return;
    if (reply.status >= 400 || (state !== undefined && failed.has(state))) {
      const said = withoutSecrets(
        messagesOf(body) ||
          listAt(body, 'Messages')
            .flatMap((item) => messageText(item) ?? [])
            .join(' '),
      );
      throw new Fault('invalid', `its BMC could not carry out ${what} (${state ?? reply.status}). ${said}`.trim());
    }
    if (state === 'Completed' || (state === undefined && reply.status !== 202)) return;
    const asked = Number(header(reply, 'retry-after')) * 1_000;
    await pause(asked > 0 ? Math.min(asked, longestPause) : wait, signal);
  }
}
