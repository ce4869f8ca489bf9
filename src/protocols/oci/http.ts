import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { Agent, buildConnector, type Dispatcher, request } from 'undici';
import { Fault } from '../../core/errors.ts';
import type { Hosts } from './hosts.ts';

/** In milliseconds and bytes. */
export interface Timeouts {
  readonly connect: number;
  /** Until an answer begins, and between pieces of it. */
  readonly idle: number;
  /** Of a manifest, a token: from the first byte sent to the last one read. */
  readonly document: number;
  /** A blob of which less than `leastBytes` come in this time is given up. */
  readonly window: number;
  readonly leastBytes: number;
  /** Between two attempts. */
  readonly pause: number;
}

export const usualTimeouts: Timeouts = {
  connect: 15_000,
  idle: 60_000,
  document: 120_000,
  window: 120_000,
  leastBytes: 256 * 1024,
  pause: 1_000,
};

export type Response = Dispatcher.ResponseData;

export interface Answer {
  readonly response: Response;
  /** Whether the server that was asked gave it, not one that it redirected to. */
  readonly isOwn: boolean;
}

const mostRedirects = 5;

export interface Ask {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Goes only to the origin that is asked. */
  readonly authorization: string | undefined;
  readonly signal: AbortSignal;
}

/** GETs with bounds: where to, how long, and who sees credentials. */
export class BoundedHttp {
  readonly #hosts: Hosts;
  readonly #plain: ReadonlySet<string>;
  readonly #agents = new Map<string, Agent>();
  readonly #trust: SecureContext | undefined;
  readonly #timeouts: Timeouts;

  /** `plain`: host:port of those that are asked without TLS. `ca`: an authority besides the known ones. */
  constructor(hosts: Hosts, plain: Iterable<string>, ca: string | undefined, timeouts: Timeouts) {
    this.#hosts = hosts;
    this.#plain = new Set(plain);
    // One for all connections: reading all authorities takes longer than a request.
    this.#trust = ca === undefined ? undefined : createSecureContext({ ca: [...getCACertificates('default'), ca] });
    this.#timeouts = timeouts;
  }

  /** The answer, after redirects. Whoever gets it reads or destroys its body. */
  async get({ url, headers, authorization, signal }: Ask): Promise<Answer> {
    let at = url;
    for (let redirects = 0; ; redirects++) {
      const isOwn = at.origin === url.origin;
      const shown = isOwn ? authorization : undefined;
      const response = await this.#once(
        at,
        shown === undefined ? headers : { ...headers, authorization: shown },
        signal,
      );
      const { location } = response.headers;
      if (response.statusCode < 300 || response.statusCode > 399 || typeof location !== 'string')
        return { response, isOwn };
      discard(response);
      if (redirects === mostRedirects)
        throw new Fault('garbled', `${url.host} redirects more than ${mostRedirects} times.`);
      at = this.#redirected(at, location);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
  }

  #redirected(from: URL, location: string): URL {
    if (!URL.canParse(location, from.href))
      throw new Fault('garbled', `${from.host} redirects to something that is not a URL.`);
    return new URL(location, from);
  }

  async #once(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const port = portOf(url);
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && this.#plain.has(`${url.hostname}:${port}`)))
      throw new Fault(
        'invalid',
        `${url.protocol}//${url.host} would be asked without TLS; muster does that only for registries in the setting images.insecureRegistries.`,
      );
    if (url.username !== '' || url.password !== '')
      throw new Fault('garbled', `${url.host} is given with credentials in its URL.`);
    this.#hosts.checkAddress(url.hostname, port);
    try {
      return await request(url, { headers, dispatcher: this.#agent(port), signal });
    } catch (error) {
      signal.throwIfAborted();
      throw transportFault(url, error);
    }
  }

  #agent(port: number): Agent {
    const known = this.#agents.get(String(port));
    if (known) return known;
    const { connect, idle } = this.#timeouts;
    const connector = buildConnector({
      timeout: connect,
      lookup: this.#hosts.lookupFor(port),
      ...(this.#trust && { secureContext: this.#trust }),
    });
    const agent = new Agent({
      connect: connector,
      headersTimeout: idle,
      bodyTimeout: idle,
      maxHeaderSize: 32 * 1024,
      connections: 8,
    });
    this.#agents.set(String(port), agent);
    return agent;
  }
}

/** What an answer says besides its headers does not matter. */
export function discard({ body }: Response): void {
  // It complains of its end, which is the one that is wanted.
  body.on('error', () => {}).destroy();
}

/** An error on the way, after which trying again makes sense. */
export class BrokenTransfer extends Fault {}

export function transportFault(url: URL, error: unknown): Fault {
  if (error instanceof Fault) return error;
  const { code = '', message, cause } = error as NodeJS.ErrnoException;
  if (cause instanceof Fault) return cause;
  const certificate = /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(code);
  const hint = certificate
    ? ' If an authority of your own has signed it, name that authority in the setting images.registryCa.'
    : code === 'EPROTO' || code.startsWith('ERR_SSL')
      ? ' It may not speak TLS; if you accept that, name it in the setting images.insecureRegistries.'
      : '';
  const Kind = certificate ? Fault : BrokenTransfer;
  return new Kind('unavailable', `${url.host} cannot be asked: ${message || code}.${hint}`, { cause: error });
}

export const portOf = ({ protocol, port }: URL): number =>
  port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port);

/** All of an answer. `what` it is, for sentences. */
export async function wholeBody({ body }: Response, most: number, what: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > most) throw new Fault('garbled', `${what} has more than ${most} bytes.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces, size);
}

/** Work that ends within that many milliseconds, or when `signal` says so. */
export async function within<T>(
  milliseconds: number,
  signal: AbortSignal,
  url: URL,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = AbortSignal.timeout(milliseconds);
  try {
    return await work(AbortSignal.any([signal, timeout]));
  } catch (error) {
    signal.throwIfAborted();
    if (timeout.aborted)
      throw new BrokenTransfer('unavailable', `${url.host} did not answer within ${milliseconds / 1_000} s.`, {
        cause: error,
      });
    throw transportFault(url, error);
  }
}
