import { type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** Nothing may run, load or be framed but what `allowed` names. */
export function pagePolicy(allowed = ''): string {
  return `default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'${allowed}`;
}

/** What a browser must not do with a reply: guess its type, frame it, run or load what is in it, tell its URL, keep it. */
export const guardHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Content-Security-Policy': pagePolicy(),
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
} as const;

type Given = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** Every reply. Without Strict-Transport-Security, which would hold for other services of the management node that are plain HTTP. */
export class GuardedResponse extends ServerResponse {
  override writeHead(status: number, reason?: string | Given, headers?: Given): this {
    if (typeof reason === 'string') return super.writeHead(status, reason, guarded(headers));
    return super.writeHead(status, guarded(reason));
  }
}

/** What was chosen for a reply stays. */
function guarded(given: Given = {}): OutgoingHttpHeaders {
  // Nobody here hands over a list of names and values.
  const headers = given as OutgoingHttpHeaders;
  headers['X-Content-Type-Options'] = guardHeaders['X-Content-Type-Options'];
  headers['X-Frame-Options'] = guardHeaders['X-Frame-Options'];
  headers['Content-Security-Policy'] ??= guardHeaders['Content-Security-Policy'];
  headers['Referrer-Policy'] = guardHeaders['Referrer-Policy'];
  headers['Cache-Control'] ??= guardHeaders['Cache-Control'];
  return headers;
}
