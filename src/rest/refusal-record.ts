import type { AuditRecord } from '../database/database.ts';
import { shortened } from '../dispatch/audit.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import type { HttpRequest } from './http-request.ts';
import type { Route } from './route.ts';

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
