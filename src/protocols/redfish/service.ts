import { Fault } from '../../core/errors.ts';
import { pause } from './abort.ts';
import { collectionIn, isSameIn, isSet, type Resource } from './resource.ts';
import type { Connection, Endpoint, Request } from './connection.ts';
import type { Reply } from './exchange.ts';
import { messagesOf, refusal, scrub } from './faults.ts';
import { type Json, listAt, localPath, textAt } from './json.ts';
import { Repeated } from './repeated.ts';
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
  readonly #limits: ErrandLimits;
  readonly #connection: () => Connection;
  #errand: Errand | undefined;
  readonly #repeated = new Repeated();

  constructor(endpoint: Endpoint, key: string, limits: ErrandLimits, connection: () => Connection) {
    this.endpoint = endpoint;
    this.#key = key;
    this.#limits = limits;
    this.#connection = connection;
  }

  /** Begins a command, whose bytes and time are bounded; it may wait so many milliseconds for hardware besides. */
  begin(waiting: number): void {
    this.#errand = new Errand(this.#limits, waiting);
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

  /** Changes what was read. If it has changed since, tries once more, unless somebody else has changed the same members. */
  async patch(resource: Resource, change: Json, signal: AbortSignal): Promise<void> {
    const { path } = resource;
    // Members of an expanded collection come without an ETag.
    const known = resource.etag === undefined ? await this.get(path, signal) : resource;
    refuseForeign(resource, known, change);
    const reply = await this.#send({ method: 'PATCH', path, body: change, etag: known.etag }, signal);
    if (!outdated.has(reply.status)) return this.#finish('PATCH', path, change, reply, signal);
    const now = await this.get(path, signal);
    if (isSet(now.body, change)) return;
    refuseForeign(resource, now, change);
    const second = await this.#send({ method: 'PATCH', path, body: change, etag: now.etag ?? '*' }, signal);
    if (!outdated.has(second.status)) return this.#finish('PATCH', path, change, second, signal);
    throw new Fault(
      'invalid',
      `its BMC refused to change ${path} twice, because it had changed since it was read (${second.status}); ` +
        'nothing was changed, try again later.',
    );
  }

  /** Sends once, whatever happens. Resolves when the service has taken the order, which may not be done yet. */
  async order(path: string, body: Json, signal: AbortSignal): Promise<Reply> {
    const reply = await this.#send({ method: 'POST', path, body }, signal);
    this.#check('POST', path, body, reply);
    return reply;
  }

  /** Like `order`, and waits until it is done. */
  async act(path: string, body: Json, signal: AbortSignal): Promise<void> {
    await this.#finish('POST', path, body, await this.order(path, body, signal), signal);
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
  return Object.entries(body).flatMap(([name, value]: [string, Json]) =>
    typeof value === 'string' ? (/password|community/i.test(name) ? [value] : []) : secretsIn(value),
  );
}

export interface ErrandLimits {
  /** How long one command may go on asking a service, in milliseconds; the request under way then is still waited for. */
  readonly commandTime: number;
  /** Bytes of all answers to one command. */
  readonly commandSize: number;
}

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
            .flatMap((item) => textAt(item, 'Message') ?? [])
            .join(' '),
      );
      throw new Fault('invalid', `its BMC could not carry out ${what} (${state ?? reply.status}). ${said}`.trim());
    }
    if (state === 'Completed' || (state === undefined && reply.status !== 202)) return;
    const asked = Number(header(reply, 'retry-after')) * 1_000;
    await pause(asked > 0 ? Math.min(asked, longestPause) : wait, signal);
  }
}
