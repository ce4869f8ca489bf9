import type { AuditRecord } from '../database.ts';

/** The request id stands in `comments`. */
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

let latest = { time: Number.NaN, text: '' };

/** Many records are of the same millisecond. */
function timeText(time: number): string {
  if (latest.time !== time) latest = { time, text: new Date(time).toISOString() };
  return latest.text;
}

/** The values of `auditColumns` for each record, one after another; `ws` is what the reference system writes for REST clients. */
export function auditValues(records: readonly AuditRecord[]): string[] {
  const values: string[] = [];
  for (const { time, user, client, command, noderange, args, status, request } of records) {
    values.push(timeText(time), user, client, 'ws', command, noderange, args, status, request);
  }
  return values;
}
