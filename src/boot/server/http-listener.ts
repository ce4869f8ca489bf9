import { hash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createSecureServer, Server as SecureServer, type ServerOptions } from 'node:https';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { errorKinds, Fault } from '../../core/errors.ts';
import { formatListen, hostProblem, type ListenAddress } from '../../core/host-address.ts';
import { http } from '../../core/http.ts';
import type { Logger } from '../../core/log.ts';
import { bootClient, type BootClient, type Found } from '../routes/route.ts';
import { type BootSource, pathSegments } from './catalog.ts';
import { filesPrefix, proxyHeaders } from './nginx.ts';
import { type Sent, sendFile, sendMade, sendPieces } from './send-file.ts';

export interface ListenerServices {
  readonly source: BootSource;
  readonly log: Logger;
  readonly maxConnectionsPerAddress: number;
  /** What connections and transfers of an address are counted by. */
  countedAs(address: string): string;
  /** It stands behind nginx, which shows itself by this secret. */
  readonly proxySecret?: string | undefined;
  /** Certificate and key, for HTTPS. */
  readonly credentials?: Pick<ServerOptions, 'cert' | 'key'> | undefined;
}

/** A rack boots at once; each machine has one or two connections. */
const mostConnections = 4_096;
const largestBody = 65_536;
/** Requests that a connection may send ahead; no more is read from it meanwhile. */
const mostWaiting = 16;
/** Milliseconds without any byte going either way. */
const idle = 60_000;

interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Serves files to machines that boot, over plain HTTP, and takes their reports. */
export class HttpListener {
  readonly #services: ListenerServices;
  readonly #server: Server;
  readonly #ofAddress = new Map<string, number>();
  /** Requests that wait for the answer to the one before them on their connection. */
  readonly #waiting = new WeakMap<Socket, Asked[]>();

  private constructor(services: ListenerServices) {
    this.#services = services;
    const limits = {
      maxHeaderSize: 8_192,
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 15_000,
      connectionsCheckingInterval: 5_000,
    };
    const serve = (request: IncomingMessage, response: ServerResponse): void => this.#queue(request, response);
    const { credentials } = services;
    this.#server = credentials
      ? createSecureServer({ ...limits, ...credentials }, serve)
      : http.createServer(limits, serve);
    this.#server.maxConnections = mostConnections;
    this.#server.timeout = idle;
    // A client that closes its side after the request still gets the answer.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    // nginx counts connections itself.
    if (services.proxySecret === undefined) this.#server.on('connection', (socket) => this.#admit(socket));
  }

  static async listen({ host, port }: ListenAddress, services: ListenerServices): Promise<HttpListener> {
    const listener = new HttpListener(services);
    const server = listener.#server;
    try {
      server.listen({ host, port, ipv6Only: host.includes(':') });
      await once(server, 'listening');
    } catch (error) {
      const where = formatListen({ host, port });
      throw new Fault('unavailable', `Cannot serve boot files on ${where}: ${(error as Error).message}.`);
    }
    return listener;
  }

  get address(): ListenAddress {
    const { address: host, port } = this.#server.address() as AddressInfo;
    return { host, port };
  }

  /** Connections from now on see this certificate, if it has one at all. */
  show(credentials: NonNullable<ListenerServices['credentials']>): void {
    if (this.#server instanceof SecureServer) this.#server.setSecureContext(credentials);
  }

  /** Transfers under way are broken off; whoever fetches asks again when muster is back. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  /** Closes the connections of an address that has too many. */
  #admit(socket: Socket): void {
    const client = this.#services.countedAs(socket.remoteAddress ?? '');
    const open = this.#ofAddress.get(client) ?? 0;
    if (open >= this.#services.maxConnectionsPerAddress) {
      socket.destroy();
      return;
    }
    this.#ofAddress.set(client, open + 1);
    socket.on('close', () => {
      const left = this.#ofAddress.get(client)! - 1;
      if (left === 0) this.#ofAddress.delete(client);
      else this.#ofAddress.set(client, left);
    });
  }

  /** One answer at a time on a connection: node:http hands over all that a client sends ahead, and each would open its file. */
  #queue(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const waiting = this.#waiting.get(socket);
    if (!waiting) {
      this.#waiting.set(socket, []);
      this.#serveInTurn({ request, response });
      return;
    }
    waiting.push({ request, response });
    if (waiting.length >= mostWaiting) socket.pause();
  }

  #serveInTurn({ request, response }: Asked): void {
    const { socket } = request;
    response.once('close', () => {
      const waiting = this.#waiting.get(socket)!;
      const next = socket.destroyed ? undefined : waiting.shift();
      if (!next) {
        this.#waiting.delete(socket);
        return;
      }
      if (waiting.length < mostWaiting) socket.resume();
      this.#serveInTurn(next);
    });
    void this.#serve(request, response);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const problem = hostProblem(request);
      if (problem !== undefined) throw new Fault('malformed', problem);
      const client = this.#clientOf(request);
      const segments = pathSegments((request.url ?? '').split('?', 1)[0]!);
      if (!segments) throw new Fault('unknown-path', 'There is nothing at this path.');
      if (request.method === 'POST') await this.#take(request, response, segments, client);
      else await this.#send(request, response, segments, client);
    } catch (error) {
      this.#fail(request, response, error);
    }
  }

  #clientOf({ socket, headers }: IncomingMessage): BootClient {
    const { proxySecret } = this.#services;
    if (proxySecret === undefined) {
      const { remoteAddress = '', localAddress = '', localPort = 80 } = socket;
      return bootClient(remoteAddress, localAddress, localPort, 'http');
    }
    const [secret, from, server, port] = (['secret', 'client', 'server', 'port'] as const).map((name) =>
      String(headers[proxyHeaders[name]] ?? ''),
    );
    if (!isSame(secret!, proxySecret)) throw new Fault('denied', 'Only the nginx of muster may ask for this.');
    return bootClient(from!, server!, Number(port), 'http');
  }

  async #send(
    request: IncomingMessage,
    response: ServerResponse,
    segments: readonly string[],
    client: BootClient,
  ): Promise<void> {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new Fault('method', 'Files can only be read here.');
    const served = await this.#services.source.find(segments, client);
    if (!served) throw new Fault('unknown-path', 'There is nothing at this path.');
    const at = new Date();
    const { bytes, complete } = await this.#answer(request, response, served.found);
    if (request.method === 'GET') served.fetched({ at, source: 'http', bytes, complete });
  }

  async #answer(request: IncomingMessage, response: ServerResponse, found: Found): Promise<Sent> {
    if (found.kind === 'pieces') return sendPieces(request, response, found);
    if (found.kind !== 'file') return sendMade(request, response, found.kind === 'text' ? found.text : found.bytes);
    const { proxySecret, log } = this.#services;
    if (proxySecret === undefined) return sendFile(request, response, found.path);
    if (request.headers[proxyHeaders.unreadable]) {
      log.warn(
        `nginx may not read ${found.path}, so muster sends it itself, which is slower: make it readable for all.`,
      );
      return sendFile(request, response, found.path);
    }
    const path = found.path.split('/').map(encodeURIComponent).join('/');
    response.setHeader('Content-Type', 'application/octet-stream');
    response.writeHead(200, { 'X-Accel-Redirect': filesPrefix + path }).end();
    // What comes of it only nginx knows.
    return { bytes: undefined, complete: undefined };
  }

  async #take(
    request: IncomingMessage,
    response: ServerResponse,
    segments: readonly string[],
    client: BootClient,
  ): Promise<void> {
    const body = await bodyOf(request);
    const taken = await this.#services.source.take(segments, body, client);
    if (!taken) throw new Fault('method', 'Nothing can be sent here.');
    if (taken.text === '') response.writeHead(204).end();
    else response.writeHead(200, { 'Content-Type': 'text/plain' }).end(taken.text);
  }

  #fail(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    const { log } = this.#services;
    if (response.headersSent || response.destroyed) {
      // The client has gone, or the file has become shorter: it sees that something is missing.
      response.destroy();
      return;
    }
    const fault = error instanceof Fault ? error : faultOf(error);
    if (fault === undefined) log.error({ err: error }, 'a boot file could not be served');
    const { status } = errorKinds[fault?.kind ?? 'unavailable'];
    const text = `${fault?.message ?? 'The file cannot be read.'}\n`;
    // What it was to be when it began is forgotten.
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    response.writeHead(status, { 'Content-Type': 'text/plain', 'Content-Length': Buffer.byteLength(text) });
    response.end(request.method === 'HEAD' ? undefined : text);
  }
}

const isSame = (a: string, b: string): boolean =>
  timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));

/** A file that is gone by now is as good as none. */
function faultOf(error: unknown): Fault | undefined {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR' || code === 'ELOOP'
    ? new Fault('unknown-path', 'There is nothing at this path.')
    : undefined;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > largestBody) throw new Fault('too-large', `At most ${largestBody} bytes can be sent.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
