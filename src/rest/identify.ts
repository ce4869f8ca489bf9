import type { FastifyRequest } from 'fastify';
import { Fault } from '../core/errors.ts';
import type { Identity } from './authenticate.ts';
import type { CommonParameters } from './parameters.ts';
import { refusalRecord } from './refusal-record.ts';
import type { Route } from './route.ts';

/** Finds out who sends a request, or notes that it could not be found out. `missing` is told to one who sent no credentials. */
export function identify(
  route: Route,
  request: FastifyRequest,
  common: CommonParameters,
  missing?: Fault,
): Identity | Promise<Identity> {
  const { services, endpoint } = route;
  const header = endpoint.byAccount ? undefined : request.headers['x-auth-token'];
  const token = Array.isArray(header) ? header[0] : header;
  if (endpoint.needsToken && token === undefined) {
    throw new Fault('method', `${endpoint.method} here revokes the token sent in X-Auth-Token, and none was sent.`);
  }
  const refused = async (error: unknown): Promise<never> => {
    const user = common.userName?.slice(0, 256) ?? '';
    if (services.audit && error instanceof Fault)
      await services.refusals.note(refusalRecord(route, request, user, 'Denied (authentication)'));
    throw error;
  };
  if (missing && token === undefined && !(common.userName && common.userPW)) return refused(missing);
  try {
    const identity = services.authenticator.identify(token, common, request.ip, request.raw.socket);
    return identity instanceof Promise ? identity.catch(refused) : identity;
  } catch (error) {
    return refused(error);
  }
}
