import type { IncomingHttpHeaders } from 'node:http';
import type { Endpoint } from './endpoint.ts';
import type { CommonParameters } from './parameters.ts';
import type { Root } from './roots.ts';

/** What a request shows of who sent it, wherever that stands. */
export interface Credentials {
  readonly token: string | undefined;
  readonly userName: string | undefined;
  readonly userPW: string | undefined;
  /** What to tell a caller who is refused; it says nothing of what is right. */
  readonly hint: () => string;
}

/** X-Auth-Token counts before everything else, the header Authorization where nothing else was sent. */
export function credentialsOf(
  root: Root,
  { byAccount }: Pick<Endpoint, 'byAccount'>,
  headers: IncomingHttpHeaders,
  common: CommonParameters,
): Credentials {
  const sentToken = headers['x-auth-token'];
  const header = Array.isArray(sentToken) ? sentToken[0] : sentToken;
  const authorization = root.takesAuthorization ? readAuthorization(headers.authorization) : undefined;
  const sent = header ?? (common.userName ? undefined : authorization?.token);
  const token = byAccount ? undefined : sent;
  const { userName = authorization?.userName, userPW = authorization?.userPW } = common;
  return { token, userName, userPW, hint: () => hintFor({ token, userName, userPW }, authorization, common) };
}

interface Authorization {
  readonly scheme: string;
  readonly token?: string;
  readonly userName?: string;
  readonly userPW?: string;
}

function readAuthorization(header: string | undefined): Authorization | undefined {
  if (header === undefined) return undefined;
  const [scheme = '', value = ''] = header.trim().split(/\s+/, 2);
  if (scheme.toLowerCase() === 'bearer' && value !== '') return { scheme, token: value };
  if (scheme.toLowerCase() !== 'basic') return { scheme };
  const [, userName, userPW] = /^([^:]*):(.*)$/s.exec(Buffer.from(value, 'base64').toString('utf8')) ?? [];
  return userName === undefined || userPW === undefined ? { scheme } : { scheme, userName, userPW };
}

function hintFor(
  { token, userName, userPW }: Omit<Credentials, 'hint'>,
  authorization: Authorization | undefined,
  { misspelt }: CommonParameters,
): string {
  if (token !== undefined) return 'The token is not known or has expired; POST /tokens gives a new one.';
  if (userName && userPW) return 'The account or its password is not right.';
  if (misspelt !== undefined) return `"${misspelt.given}" is not known; it is written "${misspelt.meant}".`;
  if (userName) return 'userName was sent without userPW.';
  if (userPW) return 'userPW was sent without userName.';
  if (authorization && !authorization.token)
    return 'The header Authorization is not understood; send "Bearer TOKEN", or "Basic" with account and password.';
  return 'No credentials were sent: send a token in the header X-Auth-Token, or userName and userPW.';
}
