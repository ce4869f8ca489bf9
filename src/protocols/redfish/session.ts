import { createHmac, randomBytes } from 'node:crypto';
import { Fault } from '../../core/errors.ts';
import type { Message, Reply } from './exchange.ts';
import { type Attempt, messageKeys, type Refusal, refusal } from './faults.ts';
import { type Json, linkAt, localPath, parseResource } from './json.ts';

export const rootPath = '/redfish/v1/';
export const plainHeaders: readonly string[] = ['accept', 'application/json', 'odata-version', '4.0'];

/** How requests prove who sends them: with a session of the service, or with the password itself. */
export interface Authority {
  /** All headers of a request without a body. */
  readonly headers: readonly string[];
  /** The session to be deleted in the end. */
  readonly session: string | undefined;
}

interface Account {
  readonly username: string;
  readonly password: string;
}

export function basicAuthority({ username, password }: Account): Authority {
  const value = Buffer.from(`${username}:${password}`).toString('base64');
  return { headers: [...plainHeaders, 'authorization', `Basic ${value}`], session: undefined };
}

/** What a service answers that has no sessions, or no room for another. */
const notOffered = new Set([404, 405, 501, 503, 507]);
const noRoom = new Set(['SessionLimitExceeded', 'CreateLimitReachedForResource']);

/** Opens a session where the root says they are (DSP0266 "Redfish session login authentication"). */
export async function logIn(
  account: Account,
  root: Json,
  send: (message: Message) => Promise<Reply>,
): Promise<Authority> {
  const path = linkAt(root, 'Links', 'Sessions');
  if (path === undefined) return basicAuthority(account);
  const body = JSON.stringify({ UserName: account.username, Password: account.password });
  const headers = [...plainHeaders, 'content-type', 'application/json'];
  const reply = await send({ method: 'POST', path, headers, body });
  if (reply.status >= 200 && reply.status < 300) return openedSession(account, reply, send);
  const said = readable(reply);
  if (notOffered.has(reply.status) || messageKeys(said).some((key) => noRoom.has(key))) return basicAuthority(account);
  const attempt: Attempt = { method: 'POST', path, username: account.username, secrets: [account.password] };
  // Some services answer 400 to a wrong password; what they say is passed on.
  throw refusal(attempt, reply.status === 400 ? 401 : reply.status, said, header(reply, 'retry-after'));
}

async function openedSession(
  account: Account,
  reply: Reply,
  send: (message: Message) => Promise<Reply>,
): Promise<Authority> {
  const token = header(reply, 'x-auth-token');
  const session = localPath(header(reply, 'location')) ?? linkAt(readable(reply));
  if (token === undefined || !/^[\x21-\x7e]+$/.test(token)) {
    const basic = basicAuthority(account);
    // Nobody could use it, but it would take the place of another.
    if (session !== undefined) await send({ method: 'DELETE', path: session, headers: basic.headers });
    return basic;
  }
  if (session === undefined) {
    throw new Fault('garbled', 'its BMC opened a session without saying where, so it could not be closed.');
  }
  return { headers: [...plainHeaders, 'x-auth-token', token], session };
}

export function header(reply: Reply, name: string): string | undefined {
  const value = reply.headers[name];
  return typeof value === 'string' ? value : value?.[0];
}

/** Bytes of what a service says of an error, a session or a task. */
const mostSaid = 64 * 1024;

/** The body of a reply that may have none, or one that cannot be read. */
export function readable(reply: Reply): Json {
  if (reply.bytes.length > mostSaid) return undefined;
  try {
    return parseResource(reply.bytes, 'the answer');
  } catch {
    return undefined;
  }
}

const maximumKept = 10_000;

/** A refused account is not tried again for a while: BMCs lock accounts after a few wrong passwords. */
export class LoginBrake {
  readonly #milliseconds: number;
  readonly #key = randomBytes(32);
  readonly #refused = new Map<string, { readonly until: number; readonly refusal: Refusal }>();

  constructor(milliseconds: number) {
    this.#milliseconds = milliseconds;
  }

  /** Fails as the last attempt did, while it is remembered. */
  check(where: string, account: Account): void {
    if (this.#refused.size === 0) return;
    const refused = this.#refused.get(this.#fingerprint(where, account));
    if (refused && performance.now() < refused.until) throw refused.refusal;
  }

  note(where: string, account: Account, refused: Refusal): void {
    const now = performance.now();
    if (this.#refused.size >= maximumKept) this.#refused.clear();
    for (const [key, { until }] of this.#refused) if (until <= now) this.#refused.delete(key);
    this.#refused.set(this.#fingerprint(where, account), { until: now + this.#milliseconds, refusal: refused });
  }

  /** Of the password too: another one may be the right one. */
  #fingerprint(where: string, { username, password }: Account): string {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([where, username, password]))
      .digest('base64');
  }
}
