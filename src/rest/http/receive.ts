import type { IncomingMessage, ServerResponse } from 'node:http';
import { networkOf } from '../../access/addresses.ts';
import { Fault } from '../../core/errors.ts';
import { requestSlices } from '../../core/slices.ts';
import { auditFailure } from '../../dispatch/audit.ts';
import { checkCouldRun } from '../../dispatch/dispatch.ts';
import type { Request } from '../../dispatch/request.ts';
import type { ClientFiles } from '../../nodes/index.ts';
import type { Identity } from './authenticate.ts';
import { GatheredBytes, MemberParser, parseBody, repeatedMember } from './parse-body.ts';
import { bodyLimit, hasBody, type Hold, IncomingBody, receiveArchive, weightOf } from './incoming-body.ts';
import type { HttpRequest } from './request-log.ts';
import { identify } from './identify.ts';
import { type CommonParameters, commonParameters } from './parameters.ts';
import type { Route } from '../endpoints/endpoint.ts';

/** What a request brings. */
export interface Received {
  readonly identity: Identity;
  readonly common: CommonParameters;
  /** Without credentials and the common parameters. */
  readonly body: Record<string, unknown>;
  /** The row's own query parameters. */
  readonly own: Record<string, string>;
}

/** A request that is being received or worked on. */
export interface Arrival {
  readonly route: Route;
  readonly request: HttpRequest;
  readonly response: ServerResponse;
  /** What to give back when it is done. */
  readonly held: (() => void)[];
}

/** Bytes that are parsed without waiting for a turn, and in one turn. */
const parsedAtOnce = 4_096;
const parsedInTurn = 65_536;

/** More than this is read only from callers who are known. */
const shortBody = 65_536;

/**
 * Finds out who sends a request and what. A short body may hold the credentials; of a long one nothing more is read, and nothing
 * is kept while a password is checked, until those in the header or the query are found right.
 */
export function receive(arrival: Arrival): Received | Promise<Received> {
  const { route, request, response } = arrival;
  if (!hasBody(request.raw) || route.endpoint.archive) return withoutBody(arrival);
  const body = new IncomingBody(request.raw, response, bodyLimit(route.endpoint));
  return isRead(arrival) ? withBody(arrival, body) : body.read(() => true).then(() => withoutBody(arrival));
}

/** Receives the archive of a request, whose sender is known and may run its command; a dry run reads and drops it. */
export async function receiveFiles(arrival: Arrival, call: Request): Promise<ClientFiles | undefined> {
  try {
    return await archiveOf(arrival, call);
  } catch (error) {
    await auditFailure(arrival.route.services, call, error);
    throw error;
  }
}

async function archiveOf({ route, request, response }: Arrival, call: Request): Promise<ClientFiles | undefined> {
  const type = request.headers['content-type'] ?? '';
  if (hasBody(request.raw) && !/^application\/x-tar\s*(;|$)/i.test(type))
    throw new Fault('malformed', 'The body must be a tar archive, with Content-Type: application/x-tar.');
  const { remote, limits } = route.services;
  const receiving = <T>(take: Parameters<typeof receiveArchive<T>>[3]): Promise<T> =>
    receiveArchive(request.raw, response, limits.requestTimeout * 1_000, take);
  if (call.dryRun) {
    if (hasBody(request.raw)) await receiving((body) => body.read(() => true));
    return undefined;
  }
  if (!hasBody(request.raw)) throw new Fault('missing-member', 'The body is missing: send a tar archive of the files.');
  await checkCouldRun(route.services, call);
  return receiving((body) => remote.clientFiles.receive(call.user, body));
}

const mediaType = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(;|$)/;

/** GET and DELETE have a body only if they say it is JSON; forms are no bodies. */
function isRead({ route, request }: Arrival): boolean {
  const given = request.headers['content-type']?.toLowerCase() ?? '';
  // What is no type is as good as any: all but forms mean JSON.
  const type = mediaType.test(given) ? given : '';
  const { method } = route.endpoint;
  if ((method === 'GET' || method === 'DELETE') && !type.includes('json')) return false;
  if (!type.startsWith('application/x-www-form-urlencoded') && !type.startsWith('multipart/')) return true;
  if (route.root.strict)
    throw new Fault('unknown-member', 'The body is a form; send JSON with Content-Type: application/json.');
  return false;
}

function withoutBody(arrival: Arrival): Received | Promise<Received> {
  const { common, rest, own } = parametersOf(arrival, {});
  const received = (identity: Identity): Received => ({
    identity: admitted(arrival, identity),
    common,
    body: rest,
    own,
  });
  // Awaiting what is there already would cost a turn; most reads need none.
  const identity = identify(arrival.route, arrival.request, common);
  return identity instanceof Promise ? identity.then(received) : received(identity);
}

const parametersOf = ({ route: { root, endpoint }, request }: Arrival, body: Record<string, unknown>) =>
  commonParameters(root, queryOf(request.raw), body, endpoint);

const queryOf = ({ url = '' }: IncomingMessage): string => {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark + 1);
};

function admitted({ route: { services }, request, held }: Arrival, identity: Identity): Identity {
  services.connections.noteKnown(request.raw.socket);
  held.push(services.concurrency.enter(identity.user));
  return identity;
}

async function withBody(arrival: Arrival, body: IncomingBody): Promise<Received> {
  const { route, request, held } = arrival;
  const hold = route.services.bodies.strangers.hold(networkOf(request.ip));
  held.push(() => hold.release());
  const start = new GatheredBytes();
  /** What a caller gets who shows nowhere but in its body who it is, if that is not read to its end. */
  let cause = body.announced > shortBody ? tooLong() : undefined;
  const fits = (chunk: Buffer): boolean => {
    start.add(chunk);
    if (start.size > shortBody) cause = tooLong();
    else if (!hold.add(chunk.length)) cause = strangersBudgetSpent();
    return cause === undefined;
  };
  if (!cause) await body.read(fits);
  return cause ? long(arrival, body, start, hold, cause) : short(arrival, start.bytes, hold);
}

const tooLong = (): Fault =>
  new Fault('unauthenticated', [
    'Authentication failure',
    `With a body of more than ${shortBody} bytes, send the credentials in the header X-Auth-Token or in the query.`,
  ]);

const strangersBudgetSpent = (): Fault =>
  new Fault(
    'unavailable',
    'Too much is being sent by callers who are not known yet; try again, or send the credentials in the header X-Auth-Token or in the query.',
    { retryAfter: 1 },
  );

async function short(arrival: Arrival, bytes: Buffer, hold: Hold): Promise<Received> {
  const read = () => {
    const { members, values, repeats } = parseBody(bytes);
    if (repeats && arrival.route.root.strict) throw repeatedMember();
    return { ...parametersOf(arrival, members), values };
  };
  let given: ReturnType<typeof read> | undefined = bytes.length > parsedAtOnce ? await requestSlices.run(read) : read();
  let identity = identify(arrival.route, arrival.request, given.common);
  if (identity instanceof Promise) {
    // Parsed it takes up many times as much, for which there is no need meanwhile.
    given = undefined;
    identity = await identity;
    given = await requestSlices.run(read);
  }
  const keep = userBudget(arrival, identity, hold);
  keep(bytes.length, given.values);
  return { identity, common: given.common, body: given.rest, own: given.own };
}

async function long(
  arrival: Arrival,
  body: IncomingBody,
  piece: GatheredBytes,
  hold: Hold,
  cause: Fault,
): Promise<Received> {
  const identity = await identify(arrival.route, arrival.request, parametersOf(arrival, {}).common, cause);
  const keep = userBudget(arrival, identity, hold);
  const parser = new MemberParser();
  const parse = (): void => {
    const before = parser.values;
    parser.add(piece.bytes);
    keep(piece.size, parser.values - before);
    piece.clear();
  };
  for (let isAll = false; !isAll; await requestSlices.run(parse)) {
    isAll = await body.read((chunk) => {
      piece.add(chunk);
      return piece.size < parsedInTurn;
    });
  }
  const members = parser.end();
  if (parser.repeats && arrival.route.root.strict) throw repeatedMember();
  const { common, rest, own } = parametersOf(arrival, members);
  return { identity, common, body: rest, own };
}

/** Lets a known caller in; what is kept of its body counts as that user's from now on. */
function userBudget(arrival: Arrival, identity: Identity, ofStrangers: Hold): (bytes: number, values: number) => void {
  admitted(arrival, identity);
  ofStrangers.release();
  const hold = arrival.route.services.bodies.users.hold(identity.user);
  arrival.held.push(() => hold.release());
  return (bytes, values) => {
    if (hold.add(weightOf(bytes, values))) return;
    // At once: until this request is answered, the user's others would meet the same bound and all be refused.
    hold.release();
    throw new Fault(
      'unavailable',
      'The bodies of running requests use all the memory there is for them; try again when some are done.',
      { retryAfter: 1 },
    );
  };
}
