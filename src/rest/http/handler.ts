import type { ServerResponse } from 'node:http';
import { hostname } from 'node:os';
import type { Command } from '../../commands/command.ts';
import { StartGate } from './start-gate.ts';
import { Fault } from '../../core/errors.ts';
import type { Store } from '../../database/store.ts';
import { dispatch } from '../../dispatch/dispatch.ts';
import type { Request } from '../../dispatch/request.ts';
import { type Line, lineOf } from '../../dispatch/audit.ts';
import type { ClientFiles } from '../../nodes/index.ts';
import { shownRange } from '../../objects/shown-arguments.ts';
import { checkBody } from './body-check.ts';
import { preconditionOf, prefers, respondAsync } from './entity-tags.ts';
import type { Endpoint, Input, Route } from '../endpoints/endpoint.ts';
import { canRespondAsync, rowsAt } from '../describe/rows.ts';
import { allResources } from '../endpoints/definitions.ts';
import { endpoints } from '../endpoints/index.ts';
import { type Answered, type HttpRequest, isLogged, logRequest, refuseSecrets } from './request-log.ts';
import { receive, type Received, receiveFiles } from './receive.ts';
import { refusalRecord } from './identify.ts';
import { faultOf, sendFault } from './reply.ts';
import type { Root } from '../endpoints/roots.ts';
import { send } from './send.ts';
import { checkOwnPage, endedCookie } from './session-cookie.ts';
import { checkUpgrade, isUpgrade } from './upgrades.ts';

/**
 * Requests that wait for the disk keep what they have made until then. Where a thousand come at once, the first are answered before
 * the last begin: others get their turn in between, and the collector has less to copy.
 */
const gate = new StartGate(64);

/** One request from the router to the last byte of its reply. Whatever goes wrong is answered here: nobody waits for it. */
export async function handle(route: Route, request: HttpRequest, response: ServerResponse): Promise<void> {
  const { services, root, endpoint, meter } = route;
  const headers: Record<string, string | number> = { 'X-Request-Id': request.id };
  const held: (() => void)[] = [];
  let user: string | undefined;
  const log = (answered: Answered): void => {
    if (!isLogged(services.log, request, answered)) return;
    const range = (): string => shownRange(rangeOf(endpoint, request.params));
    const run = headers['X-Muster-Run'];
    logRequest(services.log, request, response, { user, command: endpoint.command.name, range, run, ...answered });
  };
  try {
    checkUpgrade(request.raw);
    if (endpoint.session === 'begins') checkOwnPage(request.raw);
    if (endpoint.method !== 'GET' && rangeOf(endpoint, request.params) === allResources) {
      throw new Fault('unknown-path', `${allResources} can only be read; name the objects to ${endpoint.method}.`);
    }
    const accepted = acceptedTypes(request.headers.accept);
    if (root.strict && !accepted.json && !accepted.ndjson && !isPlain(endpoint)) {
      throw new Fault('not-acceptable', 'The Accept header admits neither application/json nor application/x-ndjson.');
    }
    const arrived = receive({ route, request, response, held });
    const received = arrived instanceof Promise ? await arrived : arrived;
    // Only those who are known wait, who have just so many requests at a time, and their bodies are here: a client may leave meanwhile.
    const turn = endpoint.method === 'GET' ? undefined : gate.turn();
    if (turn) await turn;
    const { identity, common } = received;
    user = identity.user;
    if (root.tellsDetails && request.headers['prefer'] !== undefined) headers['X-Muster-Server'] = serverName;
    let call: Request;
    try {
      const made = makeCall(route, request, response, headers, received, undefined);
      call = made instanceof Promise ? await made : made;
    } catch (error) {
      const range = shownRange(rangeOf(endpoint, request.params));
      if (services.audit && error instanceof Fault)
        await services.refusals.noteKnown(refusalRecord(route, request, identity.user, 'Failed', range));
      throw error;
    }
    const files = endpoint.archive ? await receiveFiles({ route, request, response, held }, call) : undefined;
    if (files) call = await makeCall(route, request, response, headers, received, files);
    const dispatched = dispatch(services, call);
    if (files && dispatched instanceof Promise) dispatched.catch(files.remove);
    const outcome = dispatched instanceof Promise ? await dispatched : dispatched;
    headers['X-Muster-Revision'] = outcome.revision;
    noteAge(services.store, headers);
    if (outcome.run.notes) headers['X-Muster-Note'] = noteHeader(outcome.run.notes);
    if (outcome.run.isContested) headers['X-Muster-Contested'] = 'yes';
    if (endpoint.session === 'ends') headers['Set-Cookie'] = endedCookie;
    const sent = send({ route, request, response, headers, outcome, common, call }, accepted.ndjson);
    if (sent) await sent;
    log({ command: call.command.name, failed: outcome.run.failed });
  } catch (error) {
    try {
      const fault = faultOf(error, services.log, request.id);
      // How much is changed here is no business of strangers.
      if (user !== undefined) headers['X-Muster-Revision'] ??= services.store.current.revision;
      noteAge(services.store, headers);
      if (fault.kind === 'method') headers['Allow'] = otherMethods(root, endpoint);
      if (response.headersSent) response.destroy();
      else sendFault(response, root, fault, headers, endpoint.command.name);
      log({ fault });
    } catch (unforeseen) {
      services.log.error({ request: request.id, err: unforeseen }, 'a failure could not be sent to the client');
      response.destroy();
    }
  } finally {
    for (const release of held) release();
    meter.count(response.statusCode, performance.now() - request.began);
  }
}

/** Says how old the data of a reply may be, where that is not known to be nothing. */
function noteAge({ age }: Store, headers: Record<string, string | number>): void {
  if (age > 0) headers['X-Muster-Age'] = age;
}

/** As the lines of command line programs name the server. */
const serverName = hostname()
  .split('.', 1)[0]!
  .replaceAll(/[^ -~]/g, '?');

const longestNote = 500;
/** Of what is asked about, in the log: a time or a number. */
const longestMoment = 64;

/** The first of them, in characters that a header can have; the run has all. */
function noteHeader([first = '', ...more]: readonly string[]): string {
  const rest = more.length > 0 ? ` (${more.length} more in the run)` : '';
  return first.replaceAll(/[^ -~]/g, '?').slice(0, longestNote) + rest;
}

/** What the path offers besides the row's own method. */
const otherMethods = (root: Root, { path, method }: Endpoint): string =>
  rowsAt(root, endpoints)
    .flatMap((row) => (row.path === path && row.method !== method ? row.method : []))
    .join(', ');

/** Its reply is no JSON, and no client is refused for not saying that it takes it. */
const isPlain = ({ reply }: Endpoint): boolean => reply === 'text' || reply === 'events';

const rangeOf = ({ range }: Endpoint, params: HttpRequest['params']): string =>
  range === undefined ? '' : (params[range] ?? '');

function makeCall(
  { root, endpoint }: Route,
  request: HttpRequest,
  response: ServerResponse,
  headers: Record<string, string | number>,
  { identity, common, body, own }: Received,
  files: ClientFiles | undefined,
): Request | Promise<Request> {
  const params = request.params;
  refuseSecrets(endpoint, params);
  const pathRange = rangeOf(endpoint, params);
  const range = pathRange || rangeOf(endpoint, own);
  const expectNodes = countHeader(request, 'x-expect-nodes');
  const input: Input = {
    root,
    params,
    query: own,
    body: checkBody(endpoint, root, body),
    lastEventId: endpoint.reply === 'events' ? textHeader(request, 'last-event-id') : undefined,
    files,
    expectsNodes: expectNodes !== undefined,
    isUpgrade: isUpgrade(request.raw),
    csrf: identity.csrf,
  };
  const { command, args } = endpoint.choose?.(input) ?? { command: endpoint.command, args: endpoint.args(input) };
  const precondition = endpoint.method === 'GET' ? undefined : preconditionOf(request.headers['if-match']);
  const revision = countHeader(request, 'x-muster-revision');
  const call = ({ words, line }: Line): Request => ({
    command,
    args,
    words,
    line: own['at'] === undefined ? line : `${line} at=${own['at'].slice(0, longestMoment)}`.trim(),
    at: own['at'],
    // Of others it is known by now that it has no secrets.
    range: endpoint.secretsInPath || range !== pathRange ? shownRange(range) : range,
    user: identity.user,
    scope: identity.scope,
    client: request.ip,
    token: identity.token,
    login: identity.login,
    note: identity.note,
    id: request.id,
    dryRun: common.dryRun,
    expectNodes,
    revision,
    precondition,
    files,
    signal: () => leftSignal(response),
    detached: !common.dryRun && canRespondAsync({ command }) && prefers(request.headers['prefer'], respondAsync),
    began: (run) => {
      headers['X-Muster-Run'] = run;
    },
  });
  const line = lineOf((command as Command<unknown>).line(args));
  return line instanceof Promise ? line.then(call) : call(line);
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

function textHeader(request: HttpRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}

function countHeader(request: HttpRequest, name: string): number | undefined {
  const value = request.headers[name];
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || !/^\d{1,15}$/.test(value))
    throw new Fault('malformed', `The header ${name} must be a whole number.`);
  return Number(value);
}

interface Accepted {
  readonly json: boolean;
  readonly ndjson: boolean;
}

const everything: Accepted = { json: true, ndjson: false };

/** What an Accept header admits; NDJSON only if it is named and not ranked below JSON. */
function acceptedTypes(header: string | undefined): Accepted {
  if (header === undefined || header === '' || header === '*/*') return everything;
  let json = 0;
  let ndjson = 0;
  for (const part of header.toLowerCase().split(',')) {
    const [type = '', ...parameters] = part.split(';').map((piece) => piece.trim());
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    const quality = Number.isFinite(weight) ? weight : 0;
    if (type === 'application/x-ndjson') ndjson = Math.max(ndjson, quality);
    if (type === 'application/json' || type === 'application/*' || type === '*/*') json = Math.max(json, quality);
  }
  return { json: json > 0, ndjson: ndjson > 0 && ndjson >= json };
}
