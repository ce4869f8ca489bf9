import type { AuditRecord } from './database.ts';

/** The columns of the audit log in the order of a record's text; the request id stands in `comments`. */
export const auditColumns = [
  'audittime',
  'userid',
  'clientname',
  'command',
  'noderange',
  'args',
  'status',
  'comments',
] as const;

/** A record as a JSON array, its time in milliseconds. */
export const auditText = ({ time, user, client, command, noderange, args, status, request }: AuditRecord): string =>
  JSON.stringify([time, user, client, command, noderange, args, status, request]);

/** The time of a record, from its text. */
export const auditTime = (text: string): number => Number(text.slice(1, text.indexOf(',')));
