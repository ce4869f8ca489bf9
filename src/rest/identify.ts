import type { Refusals } from '../access/refusals.ts';
import { DiskFull } from '../core/disk-full.ts';
import { Fault } from '../core/errors.ts';
import type { AuditRecord } from '../database/database.ts';
import type { Identity } from './authenticate.ts';
import { credentialsOf } from './credentials.ts';
import type { HttpRequest } from './http-request.ts';
import { localUser } from './local-peers.ts';
import type { CommonParameters } from './parameters.ts';
import { refusalRecord } from './refusal-record.ts';
import type { Route } from './route.ts';

/** Finds out who sends a request, or notes that it could not be found out. `missing` is told to one who sent no credentials. */
export function identify(
  route: Route,
  request: HttpRequest,
  common: CommonParameters,
  missing?: Fault,
): Identity | Promise<Identity> {
  const { services, endpoint, root } = route;
  const credentials = credentialsOf(root, endpoint, request.headers, common);
  const { token, userName, userPW, hint } = credentials;
  if (endpoint.needsToken && token === undefined) {
    throw new Fault('method', `${endpoint.method} here revokes the token sent in X-Auth-Token, and none was sent.`);
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
  try {
    const identity = services.authenticator.identify(credentials, request.ip, request.raw.socket);
    return identity instanceof Promise ? identity.catch(refused) : identity;
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
