import type { IncomingHttpHeaders } from 'node:http';
import type { Refusals } from '../../access/refusals.ts';
import { csrfTokenOf } from '../../access/tokens.ts';
import { DiskFull } from '../../core/disk-full.ts';
import { Fault } from '../../core/errors.ts';
import type { AuditRecord } from '../../database/database.ts';
import { shortened } from '../../dispatch/audit.ts';
import { withoutSecrets } from '../../objects/secret-names.ts';
import type { Identity } from './authenticate.ts';
import type { Endpoint, Route } from '../endpoints/endpoint.ts';
import type { HttpRequest } from './request-log.ts';
import { localUser } from './local-peers.ts';
import type { CommonParameters } from './parameters.ts';
import { checkSession, sessionIn } from './session-cookie.ts';
import type { Root } from '../endpoints/roots.ts';

/** What a request shows of who sent it, wherever that stands. */
export interface Credentials {
  readonly token: string | undefined;
  /** The token came by the cookie of a session. */
  readonly bySession: boolean;
  readonly userName: string | undefined;
  readonly userPW: string | undefined;
  /** What a caller gets who is refused; it says nothing of what is right. */
  readonly hint: () => string;
}

/** X-Auth-Token counts before everything else, the header Authorization where nothing else was sent. */
function credentialsOf(
  root: Root,
  { byAccount }: Pick<Endpoint, 'byAccount'>,
  headers: IncomingHttpHeaders,
  common: CommonParameters,
): Credentials {
  const sentToken = headers['x-auth-token'];
  const header = Array.isArray(sentToken) ? sentToken[0] : sentToken;
  const authorization = root.takesAuthorization ? readAuthorization(headers.authorization) : undefined;
  const sent = header ?? (common.userName ? undefined : authorization?.token);
  const { userName = authorization?.userName, userPW = authorization?.userPW } = common;
  // A browser sends it with every request, so it counts only where nothing else was sent.
  const session =
    root.takesSessions && sent === undefined && authorization === undefined && !userName && !userPW
      ? sessionIn(headers.cookie)
      : undefined;
  const isAlone = byAccount === true || (byAccount === 'first' && (!root.limitsTokens || Boolean(userName)));
  // What only a browser is to have makes no tokens that others have.
  const token = isAlone ? undefined : byAccount ? sent : (sent ?? session);
  const bySession = session !== undefined && !byAccount;
  const hint = (): string => hintFor({ token, bySession, userName, userPW }, authorization, common);
  return { token, bySession, userName, userPW, hint };
}

interface Authorization {
  readonly scheme: string;
  readonly token?: string;
  readonly userName?: string;
  readonly userPW?: string;
}

function readAuthorization(header: string | undefined): Authorization | undefined {
  if (header === undefined) return undefined;
  const [scheme = '', value = ''] = header.trim().split(/\s+/, 2);
  if (scheme.toLowerCase() === 'bearer' && value !== '') return { scheme, token: value };
  if (scheme.toLowerCase() !== 'basic') return { scheme };
  const [, userName, userPW] = /^([^:]*):(.*)$/s.exec(Buffer.from(value, 'base64').toString('utf8')) ?? [];
  return userName === undefined || userPW === undefined ? { scheme } : { scheme, userName, userPW };
}

function hintFor(
  { token, bySession, userName, userPW }: Omit<Credentials, 'hint'>,
  authorization: Authorization | undefined,
  { misspelt }: CommonParameters,
): string {
  if (bySession) return 'The session has ended; sign in again.';
  if (token !== undefined) return 'The token is not known or has expired; POST /tokens gives a new one.';
  if (userName && userPW) return 'The account or its password is not right.';
  if (misspelt !== undefined) return `"${misspelt.given}" is not known; it is written "${misspelt.meant}".`;
  if (userName) return 'userName was sent without userPW.';
  if (userPW) return 'userPW was sent without userName.';
  if (authorization && !authorization.token)
    return 'The header Authorization is not understood; send "Bearer TOKEN", or "Basic" with account and password.';
  return 'No credentials were sent: send a token in the header X-Auth-Token, or userName and userPW.';
}

/** Of a request that never became a command; dispatch notes the others. */
export const refusalRecord = (
  { endpoint }: Route,
  request: HttpRequest,
  user: string,
  status: string,
  range = '',
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

/** Finds out who sends a request, or notes that it could not be found out. `missing` is the answer to one who sent no credentials. */
export function identify(
  route: Route,
  request: HttpRequest,
  common: CommonParameters,
  missing?: Fault,
): Identity | Promise<Identity> {
  const { services, endpoint, root } = route;
  const credentials = credentialsOf(root, endpoint, request.headers, common);
  const { token, bySession, userName, userPW, hint } = credentials;
  if (endpoint.needsToken && token === undefined) {
    throw new Fault(
      'method',
      `${endpoint.method} here revokes the token that it is sent with, and none was sent: send the header X-Auth-Token.`,
    );
  }
  const refused = async (error: unknown): Promise<never> => {
    if (services.audit && error instanceof Fault)
      await noteRefusal(
        services.refusals,
        refusalRecord(route, request, userName?.slice(0, 256) ?? '', 'Denied (authentication)'),
      );
    throw root.takesAuthorization ? explained(error, hint()) : error;
  };
  const isLocal = (): boolean => localUser(request.raw.socket) !== undefined;
  if (missing && token === undefined && !(userName && userPW) && !isLocal()) return refused(missing);
  const known = (identity: Identity): Identity => (bySession ? { ...identity, csrf: csrfTokenOf(token!) } : identity);
  try {
    if (bySession) checkSession(endpoint, request.raw, token!);
    const identity = services.authenticator.identify(credentials, request.ip, request.raw.socket);
    if (identity instanceof Promise) return identity.then(known, refused);
    return known(identity);
  } catch (error) {
    return refused(error);
  }
}

/** Strangers hear nothing about the directories of this machine. */
async function noteRefusal(refusals: Refusals, record: AuditRecord): Promise<void> {
  try {
    await refusals.note(record);
  } catch (error) {
    if (!(error instanceof DiskFull)) throw error;
    throw new DiskFull('The audit log could not be written', undefined, error.cause);
  }
}

/** What was wrong, for a fault that does not say it. */
const explained = (error: unknown, hint: string): unknown =>
  error instanceof Fault && error.kind === 'unauthenticated' && error.sentences.length === 1
    ? new Fault('unauthenticated', [...error.sentences, hint])
    : error;
