import { scopeOf } from '../access/token-scope.ts';
import {
  expiryText,
  hashToken,
  lifetimeDays,
  newLimitedToken,
  newToken,
  parseExpiry,
  storedTime,
  tokensOf,
  tokensToDrop,
} from '../access/tokens.ts';
import { Fault } from '../core/errors.ts';
import type { Draft } from '../database/draft.ts';
import { siteValue } from './effective.ts';

const day = 86_400_000;
/** Tokens with limits that an account has at most. */
const mostLimited = 500;

export interface WantedToken {
  readonly limits?: { readonly commands: string | undefined; readonly noderange: string | undefined } | undefined;
  /** When it ends; absent: as site attribute tokenexpiredays says. */
  readonly end?: number | undefined;
  readonly name?: string | undefined;
}

export interface GivenToken {
  readonly id: string;
  /** What is stored of it. */
  readonly tokenid: string;
  /** Undefined: never. */
  readonly end: Date | undefined;
  /** The end as clients get it. */
  readonly expire: string;
}

/** A new token for an account, of which only the hash is stored. Older ones are dropped for it. Who asks must have shown who they are. */
export function giveToken(draft: Draft, user: string, { limits, end: wanted, name }: WantedToken = {}): GivenToken {
  const id = limits ? newLimitedToken() : newToken();
  const now = Date.now();
  makeRoom(draft, user, now, limits !== undefined);
  const last = wanted ?? now + lifetimeDays(siteValue(draft.base, 'tokenexpiredays')) * day;
  const end = Number.isFinite(last) ? new Date(last) : undefined;
  const tokenid = hashToken(id);
  draft.merge('token', tokenid, {
    tokenid,
    username: user,
    expire: storedTime(end),
    created: storedTime(new Date(now)),
    ...(limits?.commands !== undefined && { commands: limits.commands }),
    ...(limits?.noderange !== undefined && { noderange: limits.noderange }),
    ...(name !== undefined && { comments: name }),
  });
  return { id, tokenid, end, expire: expiryText(end) };
}

/** Tokens of logins never push out those with limits, which scripts rely on. */
function makeRoom(draft: Draft, user: string, now: number, isLimited: boolean): void {
  const all = tokensOf(draft.base.rows('token'), user);
  const limited = all.values().filter((row) => scopeOf(row) !== undefined && parseExpiry(row['expire'] ?? '') > now);
  if (isLimited && [...limited].length >= mostLimited)
    throw new Fault('invalid', `You have ${mostLimited} tokens with limits, which is the most. Revoke one first.`);
  if (isLimited) return;
  const others = new Map([...all].filter(([, row]) => scopeOf(row) === undefined));
  for (const old of tokensToDrop(others, now)) draft.remove('token', old);
}
