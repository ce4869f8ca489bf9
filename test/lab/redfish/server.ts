import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { Account, Bmc } from './bmc.ts';
import { failure, type Json, type Privilege, type Reply, type Resource, textOf } from './resource.ts';
import type { StoppedAt } from './protocol.ts';
import { dropIdleSessions } from './resources/sessions.ts';

const privileges: Readonly<Record<Account['role'], readonly Privilege[]>> = {
  Administrator: ['Login', 'ConfigureSelf', 'ConfigureComponents', 'ConfigureManager', 'ConfigureUsers'],
  Operator: ['Login', 'ConfigureSelf', 'ConfigureComponents'],
  ReadOnly: ['Login', 'ConfigureSelf'],
  None: [],
};

const remembered = 1000;

/** What a service has seen and what is wrong with it. */
export interface Seen {
  readonly requests: string[];
  readonly missed: string[];
  readonly changes: { path: string; body: unknown }[];
  readonly sockets: Set<Duplex>;
  refusedLogins: number;
  delay: number;
  silent: boolean;
  garbage: boolean;
  unavailable: number;
  outdated: number;
  stoppedAt: (StoppedAt & { die(): void }) | undefined;
  /** Called for each request that is held, to let it go on. */
  readonly held: (() => void)[];
}

export const nothingSeen = (delay: number): Seen => ({
  requests: [],
  missed: [],
  changes: [],
  sockets: new Set(),
  refusedLogins: 0,
  delay,
  silent: false,
  garbage: false,
  unavailable: 0,
  outdated: 0,
  stoppedAt: undefined,
  held: [],
});

export function serveBmc(bmc: Bmc, seen: Seen, credentials: { cert: string; key: string }): Server {
  const server = createServer({ ...credentials, keepAliveTimeout: 60_000 }, (request, response) => {
    void handle(bmc, seen, request, response);
  });
  server.on('connection', (socket) => {
    seen.sockets.add(socket);
    socket.once('close', () => seen.sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  return server;
}

async function handle(bmc: Bmc, seen: Seen, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const bytes = await receive(bmc, request);
  if (seen.silent || !bytes) return;
  if (await stopped(seen, request, 'before')) return;
  const reply = await answer(bmc, seen, request, bytes);
  if (await stopped(seen, request, 'after')) return;
  if (seen.delay > 0) await pause(seen.delay);
  const { path } = readTarget(request.url ?? '/');
  const stream = bmc.resources.get(path)?.stream;
  if (stream && request.method === 'GET' && reply.status === 200) return stream(response);
  send(seen, response, reply);
}

/** Whether the request is not to be answered, because the service is gone. */
async function stopped(seen: Seen, request: IncomingMessage, when: StoppedAt['when']): Promise<boolean> {
  const at = seen.stoppedAt;
  if (at?.when !== when || at.method !== request.method || !request.url?.includes(at.path)) return false;
  if (at.does === 'die') {
    at.die();
    return true;
  }
  await new Promise<void>((resolve) => seen.held.push(resolve));
  return false;
}

/** Undefined: the connection was cut, by this service or by its client. */
async function receive({ update: { faults } }: Bmc, request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request) {
      chunks.push(chunk as Buffer);
      size += (chunk as Buffer).length;
      if (faults.cutsAfter !== false && size > faults.cutsAfter) {
        request.socket.destroy();
        return undefined;
      }
      if (faults.slowness > 0) await pause(faults.slowness);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}

function send(seen: Seen, response: ServerResponse, { status, body, raw, headers }: Reply): void {
  const text = body === undefined ? '' : seen.garbage ? '<html>{"PowerState": "On", ' : (raw ?? JSON.stringify(body));
  response.writeHead(status, {
    'OData-Version': '4.0',
    'Cache-Control': 'no-cache',
    ...(body === undefined ? {} : { 'Content-Type': 'application/json; charset=utf-8' }),
    ...(status === 204 ? {} : { 'Content-Length': Buffer.byteLength(text) }),
    ...headers,
  });
  response.end(text);
}

function answer(bmc: Bmc, seen: Seen, request: IncomingMessage, bytes: Buffer): Reply | Promise<Reply> {
  const method = request.method ?? 'GET';
  const { path, expand } = readTarget(request.url ?? '/');
  seen.requests.push(`${method} ${path}`);
  if (seen.requests.length > remembered) seen.requests.shift();
  if (seen.unavailable > 0) {
    seen.unavailable -= 1;
    return failure(503, 'ServiceTemporarilyUnavailable', 'The service is temporarily unavailable.', {
      'Retry-After': '1',
    });
  }
  const resource = bmc.resources.get(path);
  const isOpen = resource?.open?.includes(method as 'GET' | 'POST') ?? false;
  const account = accountOf(bmc, request);
  if (!isOpen && !account) {
    seen.refusedLogins += 1;
    const message = 'There is no valid session established with the implementation.';
    return failure(401, 'NoValidSession', message, { 'WWW-Authenticate': 'Basic realm="lab"' });
  }
  if (!resource) {
    seen.missed.push(`${method} ${path}`);
    return failure(404, 'ResourceMissingAtURI', `The resource at the URI ${path} was not found.`);
  }
  if (method === 'GET') return read(bmc, resource, expand);
  if (!isOpen && !privileges[account!.role].includes(resource.privilege ?? 'ConfigureManager')) {
    return failure(403, 'InsufficientPrivilege', 'The account has not the privileges for the requested operation.');
  }
  if (method === 'POST' && resource.takesFile) return resource.takesFile(bytes, request.headers['content-type'] ?? '');
  const body = parse(bytes.toString());
  if (body === undefined) return failure(400, 'MalformedJSON', 'The request body was malformed JSON.');
  if (method === 'PATCH' && seen.outdated > 0) {
    seen.outdated -= 1;
    return failure(412, 'PreconditionFailed', 'The ETag supplied did not match the current ETag of the resource.');
  }
  const reply = change(bmc, resource, method, body, request.headers['if-match']);
  if (reply instanceof Promise) return reply;
  if (reply.status === 401) seen.refusedLogins += 1;
  if (method === 'PATCH' && reply.status < 300) seen.changes.push({ path, body });
  return reply;
}

/** The path without a final slash; `$skip` stays with it, since only next links have it. */
function readTarget(target: string): { path: string; expand: boolean } {
  const [path = '/', query = ''] = target.split('?');
  const parameters = new URLSearchParams(query);
  const skip = parameters.get('$skip');
  const bare = path.length > 1 ? path.replace(/\/$/, '') : path;
  return { path: skip === null ? bare : `${bare}?$skip=${skip}`, expand: parameters.has('$expand') };
}

function accountOf(bmc: Bmc, request: IncomingMessage): Account | undefined {
  dropIdleSessions(bmc);
  const session = bmc.sessions.get(String(request.headers['x-auth-token']));
  if (session) {
    session.used = Date.now();
    return session.account;
  }
  const [scheme, value = ''] = (request.headers.authorization ?? '').split(' ');
  if (scheme !== 'Basic') return undefined;
  const [name, ...rest] = Buffer.from(value, 'base64').toString().split(':');
  const password = rest.join(':');
  return bmc.accounts.find((one) => one.enabled && one.username === name && one.password === password);
}

function parse(text: string): Json | undefined {
  if (text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

const hasETags = ({ kind }: Bmc): boolean => kind !== 'sparse';

const etagOf = (body: Json): string => `"${createHash('md5').update(JSON.stringify(body)).digest('hex').slice(0, 12)}"`;

function read(bmc: Bmc, resource: Resource, expand: boolean): Reply {
  if (!resource.get) return failure(405, 'OperationNotAllowed', 'This address takes actions only.', { Allow: 'POST' });
  const body = resource.get();
  const members = body.Members as Json[] | undefined;
  const whole =
    expand && bmc.kind !== 'sparse' && members ? { ...body, Members: members.map((one) => expanded(bmc, one)) } : body;
  const { raw } = resource;
  return {
    status: 200,
    body: whole,
    ...(raw ? { raw } : {}),
    ...(hasETags(bmc) ? { headers: { ETag: etagOf(body) } } : {}),
  };
}

const expanded = (bmc: Bmc, member: Json): Json => bmc.resources.get(textOf(member['@odata.id']))?.get?.() ?? member;

function change(
  bmc: Bmc,
  resource: Resource,
  method: string,
  body: Json,
  ifMatch: string | undefined,
): Reply | Promise<Reply> {
  if (method === 'POST' && resource.post) return resource.post(body);
  if (method === 'DELETE' && resource.delete) {
    const current = resource.get ? etagOf(resource.get()) : '';
    const isStale = ifMatch === undefined ? resource.demandsETag : ifMatch !== '*' && ifMatch !== current;
    if (isStale) return failure(412, 'PreconditionFailed', 'The ETag supplied did not match the current ETag.');
    return resource.delete();
  }
  if (method !== 'PATCH' || !resource.patch) {
    return failure(405, 'OperationNotAllowed', `The HTTP method ${method} is not allowed on this resource.`);
  }
  if (hasETags(bmc)) {
    if (ifMatch === undefined && resource.demandsETag) {
      return failure(
        428,
        'PreconditionRequired',
        'A precondition header or annotation is required to change this resource.',
      );
    }
    const current = resource.get ? etagOf(resource.get()) : '';
    if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== current) {
      return failure(412, 'PreconditionFailed', 'The ETag supplied did not match the current ETag of the resource.');
    }
  }
  return resource.patch(body);
}
