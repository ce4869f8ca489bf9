import type { AuditRecord } from '../database.ts';

export const auditColumns = [
  'audittime',
  'userid',
  'clientname',
  'clienttype',
  'command',
  'noderange',
  'args',
  'status',
  'comments',
];

/** `clienttype` is always `ws`, as the reference system writes it for REST clients; the request id stands in `comments`. */
export const auditValues = (record: AuditRecord): string[] => [
  new Date(record.time).toISOString(),
  record.user,
  record.client,
  'ws',
  record.command,
  record.noderange,
  record.args,
  record.status,
  record.request,
];
