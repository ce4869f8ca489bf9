import net, { type Socket } from 'node:net';
import { Garbled, NotReached, Refused } from './errors.ts';
import { notTrusted, type Place } from './places.ts';
import { inCommands } from './remedies.ts';
import { Wire, type WireReply } from './wire.ts';

export interface CallOptions {
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
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
}

/** With `--curl`: here is the first request that would change something, and it was not sent. */
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

/** A line of a stream of results. */
export interface StreamLine {
  readonly node?: string;
  readonly value?: unknown;
  readonly error?: string;
  readonly progress?: { readonly done: number; readonly of: number; readonly line: string };
  readonly summary?: {
    readonly nodes: number;
    readonly ok: number;
    readonly failed: number;
    readonly errorcode?: number;
  };
  readonly [member: string]: unknown;
}

/** A stream whose lines come as the server sends them. */
export interface Stream {
  readonly headers: WireReply['headers'];
  readonly run: string | undefined;
  /** The last is the summary; without it the stream was cut, which is an error. */
  readonly lines: AsyncIterable<StreamLine>;
}

type Method = 'GET' | 'PUT' | 'POST' | 'DELETE';

/** Each piece of a path is encoded apart: `path('nodes', range, 'power')`. */
export const path = (...segments: readonly string[]): string =>
  segments.map((segment) => `/${encodeURIComponent(segment)}`).join('');

/** A client of the REST interface at `/muster`, over one kept connection. */
export class Client {
  /** `print`: requests are noted, and none is sent that may change something. `try`: those that may are sent as dry runs. */
  mode: 'usual' | 'print' | 'try' = 'usual';
  readonly requests: SentRequest[] = [];
  /** What the server accepted though it looks wrong, in the order of the replies; each once. */
  readonly notes = new Set<string>();
  readonly #find: () => Place;
  #place: Place | undefined;
  #wire: Wire | undefined;
  #server: string | undefined;
  #unknownNames: readonly string[] = [];

  constructor(find: () => Place) {
    this.#find = find;
  }

  get place(): Place {
    return (this.#place ??= this.#find());
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

  /** The names for which a range was refused last. */
  get unknownNames(): readonly string[] {
    return this.#unknownNames;
  }

  async get(at: string, options: CallOptions = {}): Promise<unknown> {
    return (await this.call('GET', at, options)).body;
  }

  /** One request; a reply that is an error is thrown as `Refused`. A command may ask for a dry run itself, and gets its reply then. */
  async call(method: Method, at: string, given: CallOptions = {}): Promise<Reply> {
    const isChange = method !== 'GET' && given.query?.['dryRun'] === undefined;
    this.#note({ method, at, ...given }, isChange);
    const isTried = this.mode === 'try' && isChange;
    const options = isTried ? { ...given, query: { ...given.query, dryRun: '1' } } : given;
    const reply = await this.#request(method, at, 'application/json', options);
    const text = await textOf(reply, this.place.shown);
    if (!isDone(reply)) throw this.#refusedBy(at, reply, text);
    const body = text.trim() === '' ? undefined : parsed(text);
    if (isTried) throw new Tried(body);
    return { status: reply.status, headers: reply.headers, body };
  }

  /** A reply that is no JSON. */
  async text(at: string): Promise<string> {
    const reply = await this.#request('GET', at, 'text/plain', {});
    const text = await textOf(reply, this.place.shown);
    if (reply.status >= 400) throw this.#refusedBy(at, reply, text);
    return text;
  }

  /** The same as a stream of lines. */
  async stream(method: Method, at: string, given: CallOptions = {}): Promise<Stream> {
    this.#note({ method, at, ...given }, true);
    const options = this.mode === 'try' ? { ...given, query: { ...given.query, dryRun: '1' } } : given;
    const reply = await this.#request(method, at, 'application/x-ndjson', options);
    if (!isDone(reply)) throw this.#refusedBy(at, reply, await textOf(reply, this.place.shown));
    const run = reply.headers['x-muster-run'];
    const lines = reply.headers['content-type']?.includes('ndjson')
      ? linesOf(reply, this.place.shown)
      : wholeReply(reply, this.place.shown);
    return { headers: reply.headers, run, lines };
  }

  /** The bytes of a stream of server-sent events. */
  async events(at: string, options: CallOptions = {}): Promise<AsyncIterable<Buffer>> {
    const reply = await this.#request('GET', at, 'text/event-stream', options);
    if (!isDone(reply)) throw this.#refusedBy(at, reply, await textOf(reply, this.place.shown));
    return bytesOf(reply, this.place.shown);
  }

  /** The process ends by itself only when no connection is left. */
  close(): void {
    this.#wire?.close();
  }

  #note({ method, at, query, body, aside }: SentRequest & CallOptions, isChange: boolean): void {
    if (this.mode !== 'print') return;
    if (!aside) this.requests.push({ method, at, query, body });
    if (isChange) throw new NotSent();
  }

  #refusedBy(at: string, reply: WireReply, text: string): Refused {
    const refused = refusedBy(reply, text);
    if (/^\/(nodes|definitions\/node)\//.test(at) && refused.kind === 'unknown-object')
      this.#unknownNames = refused.missing;
    return refused;
  }

  async #request(method: Method, at: string, accept: string, options: CallOptions): Promise<WireReply> {
    const { place } = this;
    this.#wire ??= new Wire(await socketOpener(place), place.socket === undefined ? place.shown : 'localhost');
    const query = Object.entries(options.query ?? {}).filter((pair): pair is [string, string] => pair[1] !== undefined);
    const search = query.length > 0 ? `?${new URLSearchParams(query).toString()}` : '';
    const body = options.body === undefined ? undefined : Buffer.from(JSON.stringify(options.body));
    try {
      const reply = await this.#wire.request({
        method,
        path: `${place.prefix}${at}${search}`,
        headers: {
          Accept: accept,
          Prefer: 'errors=detailed',
          ...(place.token === undefined ? {} : { 'X-Auth-Token': place.token }),
          ...(body ? { 'Content-Type': 'application/json' } : {}),
          ...(body || method === 'PUT' || method === 'POST' ? { 'Content-Length': body?.length ?? 0 } : {}),
          ...options.headers,
        },
        body,
        signal: options.signal,
      });
      this.#server = reply.headers['x-muster-server'] ?? this.#server;
      const note = reply.headers['x-muster-note'];
      if (note !== undefined) this.notes.add(inCommands(withRun(note, reply.headers['x-muster-run'])));
      return reply;
    } catch (error) {
      if (options.signal?.aborted || error instanceof TypeError) throw error;
      throw new NotReached(place.shown, reasonOf(error as Error, place));
    }
  }
}

const keepAliveAfter = 30_000;

/** A redirect is no answer: what it leads to is not the server that is trusted. */
const isDone = ({ status }: WireReply): boolean => status < 300;

/** TLS is loaded for those who need it: over the socket of this machine nobody does. */
async function socketOpener({ protocol, host, port, socket: file, ca }: Place): Promise<() => Socket> {
  if (file !== undefined) return () => net.connect(file);
  const tls = protocol === 'https:' ? await import('node:tls') : undefined;
  return () => {
    const socket = tls
      ? tls.connect({
          host,
          port,
          ...(net.isIP(host) === 0 ? { servername: host } : {}),
          // Whatever the environment says to other programs.
          rejectUnauthorized: true,
          // The one that was agreed to at login may be the server's own, where it shows no other.
          ...(ca === undefined ? {} : { ca, allowPartialTrustChain: true }),
        })
      : net.connect({ host, port, noDelay: true });
    socket.setKeepAlive(true, keepAliveAfter);
    return socket;
  };
}

/** What is cancelled has not failed. */
const brokenOff = (place: string, error: Error): Error =>
  error.name === 'AbortError' || error instanceof Garbled ? error : new NotReached(place, reasonOf(error));

async function* bytesOf(reply: WireReply, place: string): AsyncGenerator<Buffer> {
  try {
    yield* reply.body;
  } catch (error) {
    throw brokenOff(place, error as Error);
  }
}

/** No text can be much longer. */
const longestReply = 500_000_000;

async function textOf(reply: WireReply, place: string): Promise<string> {
  const chunks: Buffer[] = [];
  let left = longestReply;
  try {
    for await (const chunk of reply.body) {
      left -= chunk.length;
      if (left < 0) throw new Garbled('The server sent a reply of more than 500 MB; ask for less at a time.');
      chunks.push(chunk);
    }
  } catch (error) {
    throw brokenOff(place, error as Error);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Garbled('The server sent a reply that is no JSON; is it muster?');
  }
}

function refusedBy(reply: WireReply, text: string): Refused {
  const body = reply.headers['content-type']?.includes('json') ? parsed(text) : {};
  return new Refused(reply.status, body ?? {});
}

/** The header has the first note only. */
const withRun = (note: string, run: string | undefined): string =>
  note.replace(/\((\d+) more in the run\)$/, (_, count: string) => `(${count} more: muster runs show ${run ?? 'ID'})`);

async function* linesOf(reply: WireReply, place: string): AsyncGenerator<StreamLine> {
  let ended = false;
  try {
    for await (const pieces of lineBatches(reply.body)) {
      for (const piece of pieces) {
        // Empty ones only show that the server is still at it.
        if (piece === '') continue;
        const line = parsed(piece) as StreamLine;
        ended ||= line.summary !== undefined;
        yield typeof line.error === 'string' ? { ...line, error: inCommands(line.error) } : line;
      }
    }
  } catch (error) {
    throw brokenOff(place, error as Error);
  }
  if (!ended) throw new NotReached(place, 'the connection broke off before everything had arrived');
}

/** For commands whose reply is no stream. */
async function* wholeReply(reply: WireReply, place: string): AsyncGenerator<StreamLine> {
  const text = await textOf(reply, place);
  yield { value: text.trim() === '' ? undefined : parsed(text) };
  yield { summary: { nodes: 0, ok: 0, failed: 0 } };
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Connection refused',
  ECONNRESET: 'the connection was closed',
  ENOENT: 'there is no such socket',
  EACCES: 'Permission denied',
  ENOTFOUND: 'the name of the host is not known',
  EHOSTUNREACH: 'No route to host',
  ENETUNREACH: 'Network is unreachable',
  ETIMEDOUT: 'Connection timed out',
  EPROTO: 'what answers there does not speak TLS',
  ERR_SSL_WRONG_VERSION_NUMBER: 'what answers there does not speak TLS',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};

const untrusted = new Set([
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

function reasonOf({ code = '', message }: Error & { code?: string }, place?: Place): string {
  if (place && untrusted.has(code)) return notTrusted(place);
  return reasons[code] ?? message;
}

/** More than any line of muster's. Whatever sends more would fill the memory. */
export const longestLine = 67_108_864;

/** The lines of a stream without their newlines, those together that came together. What follows the last newline is no line. */
export async function* lineBatches(body: AsyncIterable<Buffer>): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const lines = decoder.decode(chunk, { stream: true }).split('\n');
    lines[0] = rest + lines[0]!;
    rest = lines.pop()!;
    if (rest.length > longestLine) throw new Garbled('The server sends a line without an end; is it muster?');
    yield lines;
  }
}
