import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Command } from '../commands/command.ts';
import { Fault } from '../core/errors.ts';
import type { AuditRecord } from '../database/database.ts';
import { dispatch, type Request } from '../dispatch/dispatch.ts';
import { shortened } from '../dispatch/shortened.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { acceptedTypes } from './accept.ts';
import type { Identity } from './authenticate.ts';
import { parseBody } from './body.ts';
import { checkBody } from './body-check.ts';
import type { Endpoint, Input } from './endpoint.ts';
import { rowsAt } from './describe/rows.ts';
import { allResources } from './endpoints/definitions.ts';
import { endpoints } from './endpoints/index.ts';
import { type CommonParameters, commonParameters } from './parameters.ts';
import { refuseSecrets } from './path-secrets.ts';
import { faultOf, sendFault } from './reply.ts';
import type { Root } from './roots.ts';
import { send } from './send.ts';
import type { RestServices } from './service.ts';
import { shownRange } from '../objects/shown-arguments.ts';

export interface Route {
  readonly services: RestServices;
  readonly root: Root;
  readonly endpoint: Endpoint;
}

/** One request from the router to the last byte of its reply. */
export async function handle(route: Route, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.hijack();
  const { services, root, endpoint } = route;
  const response = reply.raw;
  const headers: Record<string, string | number> = { 'X-Request-Id': request.id };
  let release: (() => void) | undefined;
  try {
    if (endpoint.method !== 'GET' && rangeOf(endpoint, request.params as Record<string, string>) === allResources) {
      throw new Fault('unknown-path', `${allResources} can only be read; name the objects to ${endpoint.method}.`);
    }
    const accepted = acceptedTypes(request.headers.accept);
    if (root.strict && !accepted.json && !accepted.ndjson) {
      throw new Fault('not-acceptable', 'The Accept header admits neither application/json nor application/x-ndjson.');
    }
    const parameters = commonParameters(root, queryOf(request.raw), bodyGiven(root, request), endpoint);
    const { common } = parameters;
    // Awaiting what is there already would cost a turn; most reads need none.
    const identified = identify(route, request, common);
    const identity = identified instanceof Promise ? await identified : identified;
    services.connections.noteKnown(request.raw.socket);
    release = services.concurrency.enter(identity.user);
    let call: Request;
    try {
      call = makeCall(route, request, response, headers, parameters, identity);
    } catch (error) {
      const range = shownRange(rangeOf(endpoint, request.params as Record<string, string>));
      if (services.audit && error instanceof Fault)
        await services.store.audit(refusalRecord(route, request, identity.user, 'Failed', range));
      throw error;
    }
    const dispatched = dispatch(services, call);
    const outcome = dispatched instanceof Promise ? await dispatched : dispatched;
    headers['X-Muster-Revision'] = outcome.revision;
    const { words } = call;
    const sent = send({ services, endpoint, request, response, headers, outcome, common, words }, accepted.ndjson);
    if (sent) await sent;
  } catch (error) {
    const fault = faultOf(error, services.log, request.id);
    headers['X-Muster-Revision'] ??= services.store.current.revision;
    if (fault.kind === 'method') headers['Allow'] = otherMethods(root, endpoint);
    if (response.headersSent) response.destroy();
    else sendFault(response, root, fault, headers);
  } finally {
    release?.();
  }
}

/** What the path offers besides the row's own method. */
const otherMethods = (root: Root, { path, method }: Endpoint): string =>
  rowsAt(root, endpoints)
    .flatMap((row) => (row.path === path && row.method !== method ? row.method : []))
    .join(', ');

const rangeOf = ({ range }: Endpoint, params: Record<string, string>): string =>
  range === undefined ? '' : (params[range] ?? '');

const queryOf = ({ url = '' }: IncomingMessage): string => {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark + 1);
};

/** GET and DELETE have a body only if they say it is JSON; forms are no bodies. */
function bodyGiven(root: Root, request: FastifyRequest): Record<string, unknown> {
  const bytes = request.body as Buffer | undefined;
  if (bytes === undefined || bytes.length === 0) return {};
  const type = request.headers['content-type']?.toLowerCase() ?? '';
  if ((request.method === 'GET' || request.method === 'DELETE') && !type.includes('json')) return {};
  if (type.startsWith('application/x-www-form-urlencoded') || type.startsWith('multipart/')) {
    if (root.strict)
      throw new Fault('unknown-member', 'The body is a form; send JSON with Content-Type: application/json.');
    return {};
  }
  return parseBody(bytes);
}

function identify(route: Route, request: FastifyRequest, common: CommonParameters): Identity | Promise<Identity> {
  const { services, endpoint } = route;
  const header = endpoint.byAccount ? undefined : request.headers['x-auth-token'];
  const token = Array.isArray(header) ? header[0] : header;
  if (endpoint.needsToken && token === undefined) {
    throw new Fault('method', `${endpoint.method} here revokes the token sent in X-Auth-Token, and none was sent.`);
  }
  const refused = async (error: unknown): Promise<never> => {
    const user = common.userName?.slice(0, 256) ?? '';
    if (services.audit && error instanceof Fault)
      await services.refusals.note(refusalRecord(route, request, user, 'Denied (authentication)', ''));
    throw error;
  };
  try {
    const identity = services.authenticator.identify(token, common, request.ip, request.raw.socket);
    return identity instanceof Promise ? identity.catch(refused) : identity;
  } catch (error) {
    return refused(error);
  }
}

/** Of a request that never became a command; dispatch notes the others. */
const refusalRecord = (
  { endpoint }: Route,
  request: FastifyRequest,
  user: string,
  status: string,
  range: string,
): AuditRecord => ({
  time: Date.now(),
  user: withoutSecrets(user),
  client: request.ip,
  command: endpoint.command.name,
  noderange: shortened(range),
  args: '',
  status,
  request: request.id,
});

function makeCall(
  { root, endpoint }: Route,
  request: FastifyRequest,
  response: ServerResponse,
  headers: Record<string, string | number>,
  { common, rest, own }: ReturnType<typeof commonParameters>,
  identity: Identity,
): Request {
  const params = request.params as Record<string, string>;
  refuseSecrets(endpoint, params);
  const expectNodes = countHeader(request, 'x-expect-nodes');
  const input: Input = {
    root,
    params,
    query: own,
    body: checkBody(endpoint, root, rest),
    expectsNodes: expectNodes !== undefined,
  };
  const args = endpoint.args(input);
  return {
    command: endpoint.command,
    args,
    words: (endpoint.command as Command<unknown>).line(args),
    range: shownRange(rangeOf(endpoint, params)),
    user: identity.user,
    client: request.ip,
    token: identity.token,
    login: identity.login,
    note: identity.note,
    id: request.id,
    dryRun: common.dryRun,
    expectNodes,
    revision: countHeader(request, 'x-muster-revision'),
    signal: () => leftSignal(response),
    began: (run) => {
      headers['X-Muster-Run'] = run;
    },
  };
}

/** Made only when asked for, since most requests are done before the client could leave. */
function leftSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const leave = (): void => controller.abort(new Fault('unavailable', 'The client left.'));
  // It may have left while its password was checked; then nobody says so again.
  if (response.destroyed) leave();
  else response.once('close', leave);
  return controller.signal;
}

function countHeader(request: FastifyRequest, name: string): number | undefined {
  const value = request.headers[name];
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || !/^\d{1,15}$/.test(value))
    throw new Fault('malformed', `The header ${name} must be a whole number.`);
  return Number(value);
}
