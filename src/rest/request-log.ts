import type { ServerResponse } from 'node:http';
import type { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { sentenceWithoutSecrets, withoutSecrets } from '../objects/secret-names.ts';
import { shortened } from '../dispatch/audit.ts';
import type { HttpRequest } from './http-request.ts';
import { shownPath } from './path-secrets.ts';

/** What is known of a request when its reply is on its way. */
export interface Answered {
  readonly user?: string | undefined;
  readonly command?: string;
  /** The nodes or objects that the path names, without secrets. */
  range?(): string;
  readonly run?: string | number | undefined;
  /** Nodes that the command failed on, in a reply that is no error. */
  readonly failed?: number;
  readonly fault?: Fault;
}

const longest = 512;

const levelOf = ({ method }: HttpRequest, { fault, failed = 0 }: Answered): 'debug' | 'info' =>
  (method === 'GET' || method === 'HEAD') && !fault && failed === 0 ? 'debug' : 'info';

export const isLogged = (log: Logger, request: HttpRequest, answered: Answered): boolean =>
  log.isLevelEnabled(levelOf(request, answered));

/** One line for every request that was refused, failed or may have changed something; readings only where one debugs. */
export function logRequest(log: Logger, request: HttpRequest, response: ServerResponse, answered: Answered): void {
  const { fault, user, command, run, failed = 0 } = answered;
  const level = levelOf(request, answered);
  const range = answered.range?.() ?? '';
  log[level](
    {
      request: request.id,
      client: request.ip,
      user: user === undefined ? undefined : withoutSecrets(user),
      method: request.method,
      // Which path it is; of what stands in its other segments, as in those of rows of tables, anything may be a secret.
      path: request.path ?? shownPath(request.url),
      range: range === '' ? undefined : shortened(range),
      status: response.statusCode,
      command,
      run,
      failed: failed > 0 ? failed : undefined,
      milliseconds: Math.round(performance.now() - request.began),
    },
    fault ? sentenceWithoutSecrets(fault.message).slice(0, longest) : 'answered',
  );
}
