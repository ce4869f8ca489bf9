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

let latest = { time: Number.NaN, text: '' };

/** Many records are of the same millisecond. */
function timeText(time: number): string {
  if (latest.time !== time) latest = { time, text: new Date(time).toISOString() };
  return latest.text;
}

/** A record as a JSON array of its values. Thousands may wait for the disk; as one text each they take up the least. */
export const auditText = ({ time, user, client, command, noderange, args, status, request }: AuditRecord): string =>
  JSON.stringify([timeText(time), user, client, command, noderange, args, status, request]);

/** The time of a record, from its text. */
export const auditTime = (text: string): string => text.slice(2, text.indexOf('"', 2));
