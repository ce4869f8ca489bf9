import type { WebSocket } from 'ws';
import { NotReached, Refused, UsageError } from './errors.ts';
import { bodyWith, pathWith, type Shorthand } from './node-shorthand.ts';
import type { OwnFiles } from './own-files.ts';
import type { Place } from './places.ts';
import { inCommands } from './remedies.ts';
import {
  bytesOf,
  goingOn,
  linesOf,
  parsed,
  refusedBy,
  type Seen,
  type StreamLine,
  textOf,
  wholeReply,
} from './replies.ts';
import { type Answered, Servers, whyPassedOver } from './servers.ts';
import type { WireReply, WireRequest } from './wire.ts';

export interface CallOptions {
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as an archive, instead of a body. */
  readonly files?: OwnFiles | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Cancels the call: the server sees its client leave. */
  readonly signal?: AbortSignal;
  /** It only prepares another request, so that `--curl` does not show it. */
  readonly aside?: boolean;
}

/** A request as `--curl` shows it. */
export interface SentRequest {
  readonly method: Method;
  readonly at: string;
  readonly query?: CallOptions['query'];
  readonly body?: unknown;
  readonly files?: OwnFiles | undefined;
  /** It may change something. */
  readonly isChange?: boolean;
}

/** What a reply to a request with `debug=1` says beside its result. */
export function messagesIn(body: unknown): readonly string[] {
  const said = (body as { debug?: readonly string[] } | undefined)?.debug ?? [];
  // The request, the command, the run and the revision come first.
  return said.slice(4);
}

/** With `--curl`: here is a request that would change something, and it was not sent. */
export class NotSent extends Error {}

/** With `--dry-run`: what the server says it would do. */
export class Tried extends Error {
  readonly answer: unknown;

  constructor(answer: unknown) {
    super('Nothing was changed.');
    this.answer = answer;
  }
}

export interface Reply {
  readonly status: number;
  readonly headers: WireReply['headers'];
  /** The JSON of the body; undefined where there is none. */
  readonly body: unknown;
}

/** A request that was refused because nothing has the names in it. */
export interface Mistake {
  readonly at: string;
  readonly kind: string;
  readonly names: readonly string[];
  /** Of the definitions in its body. */
  readonly types: readonly string[];
}

/** A stream whose lines come as the server sends them. */
export interface Stream {
  readonly headers: WireReply['headers'];
  readonly run: string | undefined;
  /** The last is the summary; without it the stream was cut, which is an error. */
  readonly lines: AsyncIterable<StreamLine>;
}

type Method = 'GET' | 'PUT' | 'POST' | 'DELETE';

/**
 * Each piece of a path is encoded apart: `path('nodes', range, 'power')`. Without a piece the path would be that of all objects, and a
 * script with an unset variable must never act on these.
 */
export const path = (...segments: readonly string[]): string =>
  segments.map((segment) => `/${encodeURIComponent(named(segment))}`).join('');

/** The range of all nodes, whatever groups they are in: a pattern that every name fulfils. */
export const everyNode = '/.*';

function named(word: string): string {
  if (word.trim() === '') throw new UsageError('An empty word ("") names nothing: give the name that is meant.');
  return word;
}

/** A client of the REST interface at `/muster`, over kept connections. */
export class Client {
  /** `print`: requests are noted, and none is sent that may change something. `try`: those that may are sent as dry runs. */
  mode: 'usual' | 'print' | 'try' = 'usual';
  readonly requests: SentRequest[] = [];
  /** What the server accepted though it looks wrong, in the order of the replies; each once. */
  readonly notes = new Set<string>();
  /** Whether one of them says that a node does not get what it was given, or that what is shown may be old. */
  concernsScripts = false;
  readonly #find: () => readonly Place[];
  readonly #shorthand: Shorthand | undefined;
  #found: Servers | undefined;
  #server: string | undefined;
  /** What the latest reply showed, and whose reply that was. */
  #revision: { readonly number: string; readonly place: Place } | undefined;
  /** Servers that have not heard from their database. */
  readonly #old = new Set<Place>();
  readonly mistakes: Mistake[] = [];

  constructor(find: () => readonly Place[], shorthand?: Shorthand) {
    this.#find = find;
    this.#shorthand = shorthand;
  }

  get #servers(): Servers {
    return (this.#found ??= new Servers(this.#find()));
  }

  /** Where all servers are that may be asked, in the order in which they are. */
  get places(): readonly Place[] {
    return this.#servers.places;
  }

  /** The server that is asked. */
  get place(): Place {
    return this.#servers.place;
  }

  /** Whether every server that may be asked is on this machine, and sees its files. */
  get isLocal(): boolean {
    return this.places.every(({ socket }) => socket !== undefined);
  }

  /** The short host name of the server, as its replies name it; undefined before the first one, and to callers it does not know. */
  get server(): string | undefined {
    return this.#server;
  }

  /** The same for lines that name it before anything was asked. A refusal names it as well. */
  async serverName(): Promise<string | undefined> {
    if (this.#server === undefined) {
      await this.get('/definitions', { aside: true }).catch((error: unknown) => {
        if (!(error instanceof Refused)) throw error;
      });
    }
    return this.#server;
  }

  async get(at: string, options: CallOptions = {}): Promise<unknown> {
    return (await this.call('GET', at, options)).body;
  }

  /** One request; a reply that is an error is thrown as `Refused`. A command may ask for a dry run itself, and gets its reply then. */
  async call(method: Method, place: string, asked: CallOptions = {}): Promise<Reply> {
    const [at, given] = this.#written(place, asked);
    const isChange = method !== 'GET' && given.query?.['dryRun'] === undefined;
    this.#note({ ...given, method, at }, isChange);
    const isTried = this.mode === 'try' && isChange;
    const options = isTried ? { ...given, query: { ...given.query, dryRun: '1' } } : given;
    const [answered, text] = await this.#whole(method, at, 'application/json', options);
    const { reply } = answered;
    if (!isDone(reply)) throw this.#refusedBy(at, given, answered, text);
    const body = text.trim() === '' ? undefined : parsed(text);
    if (isTried) throw new Tried(body);
    return { status: reply.status, headers: reply.headers, body };
  }

  /** A reply that is no JSON. */
  async text(at: string): Promise<string> {
    const [answered, text] = await this.#whole('GET', at, 'text/plain', {});
    if (answered.reply.status >= 400) throw this.#refusedBy(at, {}, answered, text);
    return text;
  }

  /** The same as a stream of lines. */
  stream(method: Method, place: string, asked: CallOptions = {}): Promise<Stream> {
    return this.#stream(method, place, asked, this.places.length - 1);
  }

  /** `others`: how many servers may be asked for the rest if it breaks off. */
  async #stream(method: Method, resource: string, asked: CallOptions, others: number): Promise<Stream> {
    const [at, given] = this.#written(resource, asked);
    this.#note({ ...given, method, at }, true);
    const options = this.mode === 'try' ? { ...given, query: { ...given.query, dryRun: '1' } } : given;
    const answered = await this.#request(method, at, 'application/x-ndjson', options);
    const { reply, place } = answered;
    if (!isDone(reply)) throw this.#refusedBy(at, given, answered, await textOf(reply, place.shown));
    const { headers } = reply;
    const run = headers['x-muster-run'];
    if (!headers['content-type']?.includes('ndjson')) return { headers, run, lines: wholeReply(reply, place.shown) };
    const rest = (seen: Seen): AsyncIterable<StreamLine> | undefined => {
      if (others === 0) return undefined;
      this.#servers.leave(place);
      this.notes.add(`${place.shown}: the connection broke off. The rest comes from ${this.place.shown}.`);
      if (isReading(method, options)) return this.#again(method, resource, asked, others - 1);
      // The work goes on without whoever asked for it, and is asked about.
      return run === undefined ? undefined : this.#followed(run, seen);
    };
    return { headers, run, lines: goingOn(linesOf(reply, place.shown), rest) };
  }

  async *#again(method: Method, resource: string, asked: CallOptions, others: number): AsyncGenerator<StreamLine> {
    yield* (await this.#stream(method, resource, asked, others)).lines;
  }

  async *#followed(run: string, seen: Seen): AsyncGenerator<StreamLine> {
    const { followedRun } = await import('./followed-run.ts');
    yield* followedRun((id) => this.get(path('runs', id), { aside: true }), run, seen);
  }

  /** The bytes of a stream of server-sent events. */
  async events(place: string, asked: CallOptions = {}): Promise<AsyncIterable<Buffer>> {
    const [at, options] = this.#written(place, asked);
    const answered = await this.#request('GET', at, 'text/event-stream', options);
    const { reply, place: server } = answered;
    if (!isDone(reply)) throw this.#refusedBy(at, options, answered, await textOf(reply, server.shown));
    return bytesOf(reply, server.shown);
  }

  /** A connection for messages in both directions. */
  async webSocket(place: string, asked: CallOptions = {}): Promise<WebSocket> {
    const [at, options] = this.#written(place, asked);
    const { openWebSocket } = await import('./consoles/web-socket.ts');
    return openWebSocket(this.places, (server) => this.#requestTo(server, 'GET', at, 'application/json', options));
  }

  /** The process ends by itself only when no connection is left. */
  close(): void {
    this.#found?.close();
  }

  /** A noderange with the nodes that its numbers stand for, as it is sent. */
  asSent(range: string): string {
    return this.#shorthand?.(range) ?? range;
  }

  /** The same of a whole request. */
  #written(at: string, given: CallOptions): readonly [at: string, given: CallOptions] {
    const shorthand = this.#shorthand;
    if (!shorthand) return [at, given];
    const { query, body } = given;
    const range = query?.['noderange'];
    const written = {
      ...given,
      ...(range === undefined ? {} : { query: { ...query, noderange: shorthand(range) } }),
      ...(body === undefined ? {} : { body: bodyWith(shorthand, at, body) }),
    };
    return [pathWith(shorthand, at), written];
  }

  #note({ method, at, query, body, files, aside }: SentRequest & CallOptions, isChange: boolean): void {
    if (this.mode !== 'print') return;
    if (!aside) this.requests.push({ method, at, query, body, files, isChange });
    if (isChange) throw new NotSent();
  }

  #refusedBy(at: string, { body }: CallOptions, { reply, passedOver }: Answered, text: string): Refused {
    const refused = refusedBy(reply, text);
    const { kind, missing } = refused;
    // Why the others were no help is said with why this one was none.
    if (reply.status === 503 && passedOver.length > 0)
      refused.add(`muster also tried ${passedOver.map(whyPassedOver).join('; ')}.`);
    if (missing.length > 0) this.mistakes.push({ at, kind, names: missing, types: typesIn(body) });
    return refused;
  }

  /** The reply and its text. What breaks off is asked for again where that does no harm. */
  async #whole(
    method: Method,
    at: string,
    accept: string,
    options: CallOptions,
  ): Promise<readonly [answered: Answered, text: string]> {
    for (let left = isReading(method, options) ? this.places.length - 1 : 0; ; left--) {
      const answered = await this.#request(method, at, accept, options);
      try {
        return [answered, await textOf(answered.reply, answered.place.shown)];
      } catch (error) {
        if (!(error instanceof NotReached) || left === 0) throw error;
        this.#servers.leave(answered.place);
      }
    }
  }

  async #request(method: Method, at: string, accept: string, options: CallOptions): Promise<Answered> {
    const answered = await this.#servers.ask(
      (place) => this.#requestTo(place, method, at, accept, options),
      isReading(method, options),
    );
    const { reply, place, passedOver } = answered;
    const { headers } = reply;
    if (reply.status !== 503)
      for (const each of passedOver) this.notes.add(`${whyPassedOver(each)}. ${place.shown} answered instead.`);
    const number = headers['x-muster-revision'];
    if (number !== undefined) this.#revision = { number, place };
    this.#server = headers['x-muster-server'] ?? this.#server;
    const age = headers['x-muster-age'];
    if (age !== undefined) this.#noteAge(place, age);
    const note = headers['x-muster-note'];
    if (note !== undefined) this.notes.add(inCommands(withRun(note, headers['x-muster-run'])));
    if (headers['x-muster-contested'] !== undefined) this.concernsScripts = true;
    return answered;
  }

  /** Once for each server: its replies grow older. */
  #noteAge(place: Place, age: string): void {
    if (this.#old.has(place)) return;
    this.#old.add(place);
    this.concernsScripts = true;
    this.notes.add(`${place.shown} has not heard from its database for ${age} seconds. What it shows may be that old.`);
  }

  #requestTo(place: Place, method: Method, at: string, accept: string, options: CallOptions): WireRequest {
    const query = Object.entries(options.query ?? {}).filter((pair): pair is [string, string] => pair[1] !== undefined);
    const search = query.length > 0 ? `?${new URLSearchParams(query).toString()}` : '';
    const body = options.body === undefined ? undefined : Buffer.from(JSON.stringify(options.body));
    // A dry run says where files would go; they stay here.
    const archive = this.mode === 'try' ? undefined : options.files?.archive();
    const known = this.#revision;
    return {
      method,
      path: `${place.prefix}${at}${search}`,
      headers: {
        Accept: accept,
        Prefer: 'errors=detailed',
        ...(place.token === undefined ? {} : { 'X-Auth-Token': place.token }),
        // Another server may not have heard yet of what this command has seen or done.
        ...(known === undefined || known.place === place ? {} : { 'X-Muster-Revision': known.number }),
        ...(body ? { 'Content-Type': 'application/json' } : {}),
        ...(archive ? { 'Content-Type': 'application/x-tar', 'Transfer-Encoding': 'chunked' } : {}),
        ...(!archive && (body || method === 'PUT' || method === 'POST') ? { 'Content-Length': body?.length ?? 0 } : {}),
        ...options.headers,
      },
      body: archive ?? body,
      signal: options.signal,
    };
  }
}

/** Whatever it is, it changes nothing, however often it is sent. */
const isReading = (method: Method, { query }: CallOptions): boolean =>
  method === 'GET' || query?.['dryRun'] !== undefined;

function typesIn(body: unknown): string[] {
  const { definitions } = (body ?? {}) as { readonly definitions?: readonly { readonly type?: unknown }[] };
  return Array.isArray(definitions) ? [...new Set(definitions.map(({ type }) => String(type)))] : [];
}

/** A redirect is no answer: what it leads to is not the server that is trusted. */
const isDone = ({ status }: WireReply): boolean => status < 300;

/** The header has the first note only. */
const withRun = (note: string, run: string | undefined): string =>
  note.replace(/\((\d+) more in the run\)$/, (_, count: string) => `(${count} more: muster runs show ${run ?? 'ID'})`);
