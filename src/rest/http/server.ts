import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type Server } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { Fault } from '../../core/errors.ts';
import { hostProblem } from '../../core/host-address.ts';
import { http } from '../../core/http.ts';
import { suggestion } from '../../core/nearest.ts';
import { NumberedIds } from '../../core/numbered-ids.ts';
import type { Credentials } from './certificates.ts';
import { rowsAt } from '../describe/rows.ts';
import type { Endpoint, RestServices } from '../endpoints/endpoint.ts';
import { GuardedResponse, guardLines } from './guarded-response.ts';
import { handle } from './handler.ts';
import { type HttpRequest, logRequest, shownPath } from './request-log.ts';
import { bodyLimit, bodyTooLarge, continueWhenWanted, isSendingArchive } from './incoming-body.ts';
import { clientBehind, isLoopback, membership } from './connections.ts';
import { publicRoutes } from '../describe/public-routes.ts';
import { faultOf, jsonType, sendBody, sendFault } from './reply.ts';
import { musterRoot, type Root, rootsWith } from '../endpoints/roots.ts';
import { Router } from './router.ts';
import { shouldUpgradeCallback, takeUpgrades } from './upgrades.ts';

const maximumHeaders = 81_920;

type Answer = readonly [status: string, sentence: string, errorcode: number];
const notHttp: Answer = ['400 Bad Request', 'The request is not valid HTTP.', 2];
const answers: Readonly<Record<string, Answer>> = {
  HPE_HEADER_OVERFLOW: ['400 Bad Request', `The headers are larger than ${maximumHeaders} bytes.`, 2],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request was not sent in time.', 4],
};

function replyOf([status, sentence, errorcode]: Answer): string {
  const body = `${JSON.stringify({ error: [sentence], errorcode })}\n`;
  const head = `Content-Type: ${jsonType}\r\nContent-Length: ${body.length}\r\nConnection: close`;
  return `HTTP/1.1 ${status}\r\n${guardLines}${head}\r\n\r\n${body}`;
}

/** For those who speak without TLS to the port. */
const plainHttpAnswer = replyOf(['400 Bad Request', 'This port speaks HTTPS: begin the URL with https://.', 2]);

/** How long a client that was answered may go on sending what nobody reads. */
const drainTimeout = 2_000;
const answered = new WeakSet<Socket>();

/** Answers what is not even HTTP, comes too slowly or has headers beyond the limit in the form of every other error. */
function answerBrokenRequest(
  error: Error & { code?: string },
  socket: Socket & { _httpMessage?: ServerResponse },
): void {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isSendingArchive(socket)) return;
  // More of the same request: closing the connection on it now would lose the answer.
  if (answered.has(socket)) return;
  // Before the handshake is done nothing can be said.
  const unheard = error.code === 'ECONNRESET' || /^ERR_(TLS|SSL)_/.test(error.code ?? '');
  // What would be written into a reply under way would garble it.
  // oxlint-disable-next-line no-underscore-dangle -- node shows the reply in no other way
  if (unheard || !socket.writable || socket._httpMessage?.headersSent) {
    socket.destroy();
    return;
  }
  answered.add(socket);
  socket.end(replyOf(answers[error.code ?? ''] ?? notHttp));
  const timer = setTimeout(() => socket.destroy(), drainTimeout).unref();
  socket.once('close', () => clearTimeout(timer));
}

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '');
const isParameter = (segment: string): boolean => segment.startsWith('{');

/**
 * For those who ask for a path of a root at which there is nothing: what there is below it, or a word that may have been meant at its beginning.
 * `paths` are those of the rows.
 */
export function hintBeneath(url: string, prefix: string, paths: readonly string[]): string {
  const path = url.split('?', 1)[0]!;
  if (!path.startsWith(`${prefix}/`)) return '';
  const asked = segmentsOf(path.slice(prefix.length));
  const [first] = asked;
  if (first === undefined) return '';
  const rows = paths.map(segmentsOf);
  const below = new Set<string>();
  for (const row of rows)
    if (row.length > asked.length && asked.every((each, at) => each === row[at] || isParameter(row[at]!)))
      below.add(`/${row[asked.length]}`);
  if (below.size > 0) return ` Below it there is ${[...below].sort().join(', ')}.`;
  const beginnings = new Set(rows.flatMap(([beginning]) => beginning ?? []));
  return beginnings.has(first) ? '' : suggestion(first, beginnings);
}

const maximumUrl = 65_536;
const reading = ['GET', 'HEAD'];
/** Milliseconds that a connection is kept without a request. */
const keepAliveTimeout = 72_000;

const unreadablePath =
  'The path cannot be read: write every % as %25, and every other %-sequence as bytes of UTF-8 text.';

interface Target {
  /** The row, for what its bodies may be. */
  readonly endpoint?: Endpoint;
  answer(request: HttpRequest, response: ServerResponse): void;
}

/** A server with TLS, or, without credentials, a plain one for this machine and its proxies. */
export function createServer(
  services: RestServices,
  credentials: Credentials | undefined,
  rows: readonly Endpoint[],
): Server {
  const requestTimeout = services.limits.requestTimeout * 1_000;
  const isProxy = membership(services.http.proxies);
  const options = {
    maxHeaderSize: maximumHeaders,
    // Node takes the longer of the two for the request.
    headersTimeout: requestTimeout,
    requestTimeout,
    // How often node looks for requests that are late; twice a minute unless set.
    connectionsCheckingInterval: Math.min(requestTimeout / 2, 5_000),
    keepAliveTimeout,
    // Checked with the rest, since node's own answer has no body.
    requireHostHeader: false,
    ServerResponse: GuardedResponse,
    shouldUpgradeCallback,
  };
  const listener = requestListener(services, rows);
  const tls = { ...credentials, minVersion: 'TLSv1.2', handshakeTimeout: requestTimeout } as const;
  const server = (
    credentials ? createHttpsServer({ ...options, ...tls }, listener) : http.createServer(options, listener)
  ) as Server;
  server.on('clientError', answerBrokenRequest);
  // Otherwise node answers an unknown Expect itself, without a body.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  continueWhenWanted(server);
  if (!credentials) {
    // Before the others, which would count it.
    server.prependListener('connection', (socket: Socket) => {
      const address = socket.remoteAddress ?? '';
      if (!isLoopback(address) && !isProxy(address)) socket.destroy();
    });
  }
  takeUpgrades(server);
  services.connections.watch(server, credentials === undefined);
  // Before the others, which close the connection.
  server.prependListener('tlsClientError', (error: Error & { code?: string }, socket) => {
    if (error.code === 'ERR_SSL_HTTP_REQUEST') services.connections.rawOf(socket)?.end(plainHttpAnswer);
  });
  return server;
}

function requestListener(services: RestServices, rows: readonly Endpoint[]) {
  const router = routerOf(services, rows);
  const paths = rowsAt(musterRoot, rows).map(({ path }) => path);
  const requestIds = new NumberedIds();
  let requests = 0;
  const clientOf = clientBehind(services.http.proxies);
  return function (this: Server, raw: IncomingMessage, response: ServerResponse): void {
    const url = (raw.url = originForm(raw.url ?? '/'));
    const at = router.find(url);
    const found = at === 'unreadable' ? undefined : at;
    const request: HttpRequest = {
      id: requestIds.id(++requests),
      raw,
      method: raw.method!,
      url,
      headers: raw.headers,
      ip: clientOf(raw),
      path: found?.place.path,
      params: found?.params ?? {},
      began: performance.now(),
    };
    try {
      if (!this.listening) throw stopping(response);
      if (at === 'unreadable') throw urlTooLong(request) ?? new Fault('malformed', unreadablePath);
      const target = found?.place.targets.get(request.method);
      checkClient(request);
      checkSize(request, target?.endpoint);
      if (target) target.answer(request, response);
      else if (found) refuseMethod(services, [...found.place.targets.keys()], request, response);
      else throw nothingAt(url, paths);
    } catch (error) {
      refuse(services, request, response, error);
    }
  };
}

const nothingAt = (url: string, paths: readonly string[]): Fault =>
  new Fault('unknown-path', `There is nothing at ${shownPath(url)}.${hintBeneath(url, musterRoot.prefix, paths)}`);

/** On a connection that was kept; the client should find out whether there is a server on a new one. */
function stopping(response: ServerResponse): Fault {
  response.shouldKeepAlive = false;
  return new Fault('unavailable', 'muster is shutting down.', { retryAfter: 5, nothingDone: true });
}

/** Somebody who knows nothing but the address should find out more. */
const showManual = (_request: HttpRequest, response: ServerResponse): void =>
  sendBody(response, 302, { Location: `${musterRoot.prefix}/manual` }, '');

/** `https://host/path`, as proxies send it, means `/path`. */
function originForm(url: string): string {
  if (url.startsWith('/')) return url;
  const absolute = /^https?:\/\/[^/?#]*/i.exec(url);
  return absolute ? url.slice(absolute[0].length) || '/' : url;
}

const rootOf = ({ xcatws }: RestServices, request: HttpRequest): Root =>
  rootsWith(xcatws).find((root) => request.url.startsWith(root.prefix)) ?? musterRoot;

function refuse(services: RestServices, request: HttpRequest, response: ServerResponse, error: unknown): void {
  const root = rootOf(services, request);
  const fault = faultOf(error, services.log, request.id);
  sendFault(response, root, fault, { 'X-Request-Id': request.id });
  services.meters.of(root.prefix, 'any', 'none').count(response.statusCode, performance.now() - request.began);
  logRequest(services.log, request, response, { fault });
}

const urlTooLong = ({ url }: HttpRequest): Fault | undefined =>
  url.length > maximumUrl ? new Fault('too-large', `The URL is longer than ${maximumUrl} characters.`) : undefined;

/** A proxy must say whom it speaks for in a way that can be counted, judged by rules and kept. */
function checkClient({ ip, headers }: HttpRequest): void {
  if (headers['x-forwarded-for'] !== undefined && isIP(ip) === 0)
    throw new Fault('malformed', 'The proxy names no address of its client last in X-Forwarded-For.');
}

/** What is too large or asks for what we do not offer is refused before anything else. */
function checkSize(request: HttpRequest, endpoint: Endpoint | undefined): void {
  const tooLong = urlTooLong(request);
  if (tooLong) throw tooLong;
  const length = Number(request.headers['content-length'] ?? 0);
  const limit = bodyLimit(endpoint);
  if (length > limit) throw bodyTooLarge(limit);
  if (request.url.includes('//') && request.url.split('?', 1)[0]!.includes('//'))
    throw new Fault('unknown-path', 'The path has an empty segment.');
  const { expect } = request.headers;
  const problem = hostProblem(request.raw);
  if (problem !== undefined) throw new Fault('malformed', problem);
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    throw new Fault('expectation', `The expectation "${expect}" cannot be met.`);
  }
}

function routerOf(services: RestServices, rows: readonly Endpoint[]): Router<Target> {
  const router = new Router<Target>();
  for (const root of rootsWith(services.xcatws)) {
    for (const endpoint of rowsAt(root, rows)) {
      const { method, path } = endpoint;
      const route = { services, root, endpoint, meter: services.meters.of(root.prefix, method, path) };
      const methods = method === 'GET' && root.answersHead ? reading : [method];
      // Nobody waits for it: it answers whatever goes wrong.
      const answer: Target['answer'] = (request, response) => void handle(route, request, response);
      router.add(methods, root.prefix + path.replaceAll(/\{(\w+)\}/g, ':$1'), { endpoint, answer });
    }
    for (const { path, methods = reading, answer } of publicRoutes(services, root))
      router.add([...methods], root.prefix + path, { answer });
  }
  router.add(reading, '/', { answer: showManual });
  return router;
}

function refuseMethod(
  services: RestServices,
  allowed: readonly string[],
  request: HttpRequest,
  response: ServerResponse,
): void {
  const fault = new Fault(
    'method',
    `${request.method} is not offered here; ${allowed.join(', ')} ${allowed.length === 1 ? 'is' : 'are'}.`,
  );
  const headers = { 'X-Request-Id': request.id, Allow: allowed.join(', ') };
  sendFault(response, rootOf(services, request), fault, headers);
  logRequest(services.log, request, response, { fault });
}
