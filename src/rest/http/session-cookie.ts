import type { IncomingMessage } from 'node:http';
import { sameText } from '../../access/crypt.ts';
import { csrfTokenOf } from '../../access/tokens.ts';
import { Fault } from '../../core/errors.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { isOwnOrigin, isUpgrade } from './upgrades.ts';

/** With this beginning browsers take it over HTTPS only, from this host only, and for no other one of its domain. */
export const cookieName = '__Host-muster-session';
/** Out of reach of scripts, and not sent with what pages of other sites cause. */
const attributes = 'Path=/; Secure; HttpOnly; SameSite=Strict';

/** Seconds that browsers keep a cookie at most. */
const longestAge = 400 * 86_400;

/** The header that gives a browser its token. `end` undefined: never. */
export function sessionCookie({ id, end }: { readonly id: string; readonly end: Date | undefined }): string {
  const left = end === undefined ? longestAge : Math.floor((end.getTime() - Date.now()) / 1_000);
  return `${cookieName}=${id}; Max-Age=${Math.max(0, Math.min(left, longestAge))}; ${attributes}`;
}

/** The header that takes it back. */
export const endedCookie = `${cookieName}=; Max-Age=0; ${attributes}`;

/** What a browser keeps while it is at a provider of logins, which sends it back from another site. */
const flowName = '__Host-muster-login';
const flowAttributes = 'Path=/; Secure; HttpOnly; SameSite=Lax';
const flowAge = 600;

export const flowCookie = (flow: string): string => `${flowName}=${flow}; Max-Age=${flowAge}; ${flowAttributes}`;
export const endedFlowCookie = `${flowName}=; Max-Age=0; ${flowAttributes}`;
export const flowIn = (header: string | undefined): string | undefined => cookieIn(header, flowName);

/** The token in the header Cookie, if there is one. */
export const sessionIn = (header: string | undefined): string | undefined => cookieIn(header, cookieName);

function cookieIn(header: string | undefined, name: string): string | undefined {
  if (header === undefined || !header.includes(name)) return undefined;
  for (const part of header.split(';')) {
    const at = part.indexOf('=');
    if (at >= 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim() || undefined;
  }
  return undefined;
}

/** The header by which pages show that a request is their own. */
const csrfHeader = 'x-csrf-token';

/** Refuses what a page of another site may have caused with the cookie that the browser sends along. */
export function checkSession({ method, reply }: Endpoint, request: IncomingMessage, token: string): void {
  checkOwnPage(request);
  if (method !== 'GET') {
    const shown = request.headers[csrfHeader];
    if (typeof shown === 'string' && sameText(shown, csrfTokenOf(token))) return;
    throw new Fault(
      'denied',
      'With the cookie of a session, a request that changes something needs the header X-CSRF-Token with the value that the session was given.',
    );
  }
  // What stays open says more than one reply; browsers of today always say where it comes from.
  const { origin, 'sec-fetch-site': site } = request.headers;
  if ((reply === 'events' || isUpgrade(request)) && site !== 'same-origin' && origin === undefined)
    throw new Fault(
      'denied',
      'With the cookie of a session, events and consoles are only for pages of this server: send the header Sec-Fetch-Site or Origin, or use a token.',
    );
}

/** Refuses requests that a browser says another site has caused. */
export function checkOwnPage({ headers }: IncomingMessage): void {
  const { origin, host = '', 'sec-fetch-site': site } = headers;
  const isForeign =
    (site !== undefined && site !== 'same-origin' && site !== 'none') ||
    (origin !== undefined && !isOwnOrigin(origin, host));
  if (isForeign) throw new Fault('denied', 'A page of another site may not use the session of this browser.');
}
