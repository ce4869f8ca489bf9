import fastify, {
  type FastifyHttpsOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { METHODS, type IncomingMessage } from 'node:http';
import type { Server } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { Fault } from '../core/errors.ts';
import { NumberedIds } from '../core/numbered-ids.ts';
import { answerBrokenRequest, maximumHeaders, plainHttpAnswer } from './broken-request.ts';
import type { Credentials } from './certificates.ts';
import { rowsAt } from './describe/rows.ts';
import type { Endpoint } from './endpoint.ts';
import { GuardedResponse } from './guarded-response.ts';
import { handle } from './handler.ts';
import { bodyLimit, bodyTooLarge, continueWhenWanted } from './incoming-body.ts';
import { publicRoutes } from './public-routes.ts';
import { faultOf, sendBody, sendFault } from './reply.ts';
import { logRequest } from './request-log.ts';
import { isLoopback, membership } from './proxies.ts';
import { musterRoot, type Root, rootsWith } from './roots.ts';
import type { RestServices } from './route.ts';
import { hintBeneath } from './beneath.ts';
import { shownPath } from './path-secrets.ts';

const maximumUrl = 65_536;
const reading = ['GET', 'HEAD'];

const unreadablePath =
  'The path cannot be read: write every % as %25, and every other %-sequence as bytes of UTF-8 text.';

/** A server with TLS, or, without credentials, a plain one for this machine and its proxies. */
export function createServer(
  services: RestServices,
  credentials: Credentials | undefined,
  rows: readonly Endpoint[],
): FastifyInstance<Server> {
  const requestIds = new NumberedIds();
  let requests = 0;
  const requestTimeout = services.limits.requestTimeout * 1_000;
  const isProxy = membership(services.http.proxies);
  const http = {
    maxHeaderSize: maximumHeaders,
    // Node takes the longer of the two for the request.
    headersTimeout: requestTimeout,
    // How often node looks for requests that are late; twice a minute unless told.
    connectionsCheckingInterval: Math.min(requestTimeout / 2, 5_000),
    // Checked with the rest, since node's own answer has no body.
    requireHostHeader: false,
    ServerResponse: GuardedResponse,
  };
  const app = fastify({
    ...(credentials
      ? { https: { ...http, ...credentials, minVersion: 'TLSv1.2', handshakeTimeout: requestTimeout } }
      : { http }),
    // Asking for each address costs something, so nobody is asked about where there are none.
    ...(services.http.proxies.length > 0 ? { trustProxy: isProxy } : {}),
    requestTimeout,
    exposeHeadRoutes: false,
    genReqId: () => requestIds.id(++requests),
    rewriteUrl: (request: IncomingMessage) => originForm(request.url ?? '/'),
    // Queries are read by commonParameters, which knows what may stand in them.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: maximumUrl, querystringParser: () => ({}) },
    frameworkErrors: (_error: Error, request: FastifyRequest, reply: FastifyReply) =>
      refuse(services, request, reply, urlTooLong(request) ?? new Fault('malformed', unreadablePath)),
    clientErrorHandler: answerBrokenRequest,
  } as FastifyHttpsOptions<Server>);
  for (const method of METHODS)
    if (!app.supportedMethods.includes(method) && method !== 'CONNECT') app.addHttpMethod(method, { hasBody: true });
  app.addHttpMethod('GET', { hasBody: true, overrideExisting: true });
  // With a body it would be refused for a missing type before we can say that it is not offered.
  app.addHttpMethod('QUERY', { hasBody: false, overrideExisting: true });
  app.removeAllContentTypeParsers();
  // Bodies are left for the handler to read, whatever their type.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.addHook('onRequest', (request, _reply, done) => {
    checkClient(request);
    checkSize(request);
    mendContentType(request);
    done();
  });
  app.setErrorHandler((error, request, reply) => refuse(services, request, reply, error));
  const paths = rowsAt(musterRoot, rows).map(({ path }) => path);
  app.setNotFoundHandler((request, reply) => {
    const hint = hintBeneath(request.url, musterRoot.prefix, paths);
    refuse(
      services,
      request,
      reply,
      new Fault('unknown-path', `There is nothing at ${shownPath(request.url)}.${hint}`),
    );
  });
  for (const root of rootsWith(services.xcatws)) addRoutes(app, services, root, rows);
  app.route({ method: reading, url: '/', handler: showReference });
  // Otherwise node answers an unknown Expect itself, without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  continueWhenWanted(app.server);
  if (!credentials) {
    // Before the others, which would count it.
    app.server.prependListener('connection', (socket: Socket) => {
      const address = socket.remoteAddress ?? '';
      if (!isLoopback(address) && !isProxy(address)) socket.destroy();
    });
  }
  services.connections.watch(app.server, credentials === undefined);
  // Before the others, which close the connection.
  app.server.prependListener('tlsClientError', (error: Error & { code?: string }, socket) => {
    if (error.code === 'ERR_SSL_HTTP_REQUEST') services.connections.rawOf(socket)?.end(plainHttpAnswer);
  });
  return app;
}

/** Somebody who knows nothing but the address should find out more. */
function showReference(_request: FastifyRequest, reply: FastifyReply): void {
  reply.hijack();
  sendBody(reply.raw, 302, { Location: `${musterRoot.prefix}/docs` }, '');
}

/** `https://host/path`, as proxies send it, means `/path`. */
function originForm(url: string): string {
  if (url.startsWith('/')) return url;
  const absolute = /^https?:\/\/[^/?#]*/i.exec(url);
  return absolute ? url.slice(absolute[0].length) || '/' : url;
}

const rootOf = ({ xcatws }: RestServices, request: FastifyRequest): Root =>
  rootsWith(xcatws).find((root) => request.url.startsWith(root.prefix)) ?? musterRoot;

function refuse(services: RestServices, request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  reply.hijack();
  const root = rootOf(services, request);
  const fault = faultOf(error, services.log, request.id);
  sendFault(reply.raw, root, fault, { 'X-Request-Id': request.id });
  services.meters.of(root.prefix, 'any', 'none').count(reply.raw.statusCode, reply.elapsedTime);
  logRequest(services.log, request, reply, { fault });
}

/** Fastify refuses a type it cannot read; here every type but a form means JSON, so that such a one is as good as any. */
function mendContentType({ raw }: FastifyRequest): void {
  const type = raw.headers['content-type'];
  if (type !== undefined && !/^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(;|$)/.test(type)) {
    raw.headers['content-type'] = 'application/octet-stream';
  }
}

const urlTooLong = ({ url }: FastifyRequest): Fault | undefined =>
  url.length > maximumUrl ? new Fault('too-large', `The URL is longer than ${maximumUrl} characters.`) : undefined;

/** A proxy must say whom it speaks for in a way that can be counted, judged by rules and kept. */
function checkClient({ ip, headers }: FastifyRequest): void {
  if (headers['x-forwarded-for'] !== undefined && isIP(ip) === 0)
    throw new Fault('malformed', 'The proxy names no address of its client last in X-Forwarded-For.');
}

/** What is too large or asks for what we do not offer is refused before anything else. */
function checkSize(request: FastifyRequest): void {
  const tooLong = urlTooLong(request);
  if (tooLong) throw tooLong;
  const length = Number(request.headers['content-length'] ?? 0);
  const limit = bodyLimit((request.routeOptions.config as { bulk?: boolean }).bulk);
  if (length > limit) throw bodyTooLarge(limit);
  if (request.url.includes('//') && request.url.split('?', 1)[0]!.includes('//'))
    throw new Fault('unknown-path', 'The path has an empty segment.');
  const { expect, host } = request.headers;
  if (host === undefined && request.raw.httpVersion === '1.1')
    throw new Fault('malformed', 'The header Host is missing.');
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    throw new Fault('expectation', `The expectation "${expect}" cannot be met.`);
  }
}

function addRoutes(app: FastifyInstance<Server>, services: RestServices, root: Root, rows: readonly Endpoint[]): void {
  const offered = rowsAt(root, rows);
  const methods = new Map<string, string[]>();
  const note = (path: string, more: readonly string[]): string => {
    methods.set(path, [...(methods.get(path) ?? []), ...more]);
    return path;
  };
  for (const endpoint of offered) {
    const method = endpoint.method === 'GET' && root.answersHead ? reading : [endpoint.method];
    const url = note(root.prefix + routerPath(endpoint), method);
    const route = { services, root, endpoint, meter: services.meters.of(root.prefix, endpoint.method, endpoint.path) };
    app.route({
      method,
      url,
      config: { bulk: endpoint.bulk ?? false },
      // Fastify would wait for what it returns, which costs every request something and tells it nothing.
      handler: (request, reply) => void handle(route, request, reply),
    });
  }
  for (const { path, handler } of publicRoutes(services, root)) {
    app.route({ method: reading, url: note(root.prefix + path, reading), handler });
  }
  for (const [url, allowed] of methods) {
    const others = app.supportedMethods.filter((method) => !allowed.includes(method));
    app.route({
      method: others,
      url,
      handler: (request, reply) => refuseMethod(services, root, allowed, request, reply),
    });
  }
}

function refuseMethod(
  services: RestServices,
  root: Root,
  allowed: readonly string[],
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  reply.hijack();
  const fault = new Fault(
    'method',
    `${request.method} is not offered here; ${allowed.join(', ')} ${allowed.length === 1 ? 'is' : 'are'}.`,
  );
  sendFault(reply.raw, root, fault, { 'X-Request-Id': request.id, Allow: allowed.join(', ') });
  logRequest(services.log, request, reply, { fault });
}

const routerPath = ({ path }: Endpoint): string => path.replaceAll(/\{(\w+)\}/g, ':$1');
