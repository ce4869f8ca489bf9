import { Type } from 'typebox';
import { isPublicId, publicId } from '../access/token-scope.ts';
import {
  csrfTokenOf,
  expiryText,
  isoTime,
  lifetimeDays,
  parseExpiry,
  shownExpiry,
  tokensOf,
} from '../access/tokens.ts';
import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { knownAccount } from '../objects/accounts.ts';
import { knownNodes } from '../objects/cluster.ts';
import { siteValue } from '../objects/effective.ts';
import { visibleNodes } from '../objects/groups.ts';
import { giveToken } from '../objects/new-token.ts';
import { allowedOn, policyOf } from '../objects/policy.ts';
import { type Arguments, type Caller, change, noArguments, noLine, nothing, query } from './command.ts';

const day = 86_400_000;
/** Days that a token with limits lives at most. */
const longestDays = 366;
const longestName = 200;
const longestRange = 2_000;

const wanted = Type.Object({
  commands: Type.Optional(Type.String({ description: 'the only commands that it is for' })),
  noderange: Type.Optional(Type.String({ description: 'the only nodes that it is for' })),
  days: Type.Optional(Type.Number({ description: 'how long it is valid' })),
  name: Type.Optional(Type.String({ description: 'what it is for' })),
});
type Wanted = Arguments<typeof wanted>;

/** A new token for the caller. Only its hash is stored. Older ones are dropped for it. */
export const gettoken = change({
  name: 'gettoken',
  args: wanted,
  line: ({ commands, noderange, days }) => [
    ...(commands === undefined ? [] : ['-c', commands]),
    ...(noderange === undefined ? [] : ['-n', noderange]),
    ...(days === undefined ? [] : ['-d', String(days)]),
  ],
  free: true,
  plan(draft, given, { caller }) {
    checkMaker(draft.base, given, caller);
    checkLimits(draft.base, given, caller);
    const { commands, noderange, name } = given;
    const limits = isLimited(given) ? { commands, noderange } : undefined;
    const end = endOf(draft.base, given, caller);
    const { id, expire, tokenid } = giveToken(draft, caller.user, { limits, end, name });
    return { shape: 'value', value: { token: { id, expire, ...(limits && { publicId: publicId(tokenid) }) } } };
  },
});

/** A session of a browser: a token that only the browser keeps, out of reach of what runs in its pages. */
export const startsession = change({
  name: 'startsession',
  args: noArguments,
  line: noLine,
  free: true,
  plan(draft, _args, { caller }) {
    checkMaker(draft.base, {}, caller);
    const { id, end, expire } = giveToken(draft, caller.user);
    return {
      shape: 'value',
      value: { user: caller.user, csrf: csrfTokenOf(id), expire, full: caller.hasFullRights() },
      session: { id, end },
    };
  },
});

/** Who the caller is, until when, and what a page needs so that it may change something. */
export const lssession = query({
  name: 'lssession',
  args: Type.Object({ csrf: Type.Optional(Type.String()) }),
  line: noLine,
  free: true,
  run(snapshot, { csrf }, { caller }) {
    const row = caller.token === undefined ? undefined : snapshot.get('token', caller.token);
    return {
      shape: 'value',
      value: {
        user: caller.user,
        ...(csrf === undefined ? {} : { csrf }),
        ...(row ? { expire: shownExpiry(row['expire'] ?? '') } : {}),
        full: caller.hasFullRights(),
      },
    };
  },
});

/** The nodes that the caller may list: who may not list all has to name them. */
export const lsmynodes = query({
  name: 'lsmynodes',
  args: noArguments,
  line: noLine,
  free: true,
  run(snapshot, _args, { caller: { user, scope, addresses } }) {
    const nodes = visibleNodes(snapshot);
    if (policyOf(snapshot, scope).alwaysAllows(user, 'lsdef')) return { shape: 'list', items: nodes };
    const isAllowed = allowedOn(snapshot, { user, scope, addresses, command: 'lsdef', line: '-t node' });
    return { shape: 'list', items: nodes.filter(isAllowed) };
  },
});

const isLimited = ({ commands, noderange }: Wanted): boolean => commands !== undefined || noderange !== undefined;

/** Who has a token may have another one only if that can do less and does not live longer. */
function checkMaker(snapshot: Snapshot, given: Wanted, { user, scope, token, login }: Caller): void {
  if (scope) throw new Fault('denied', `The token ${scope.id} has limits, and such a token makes no tokens. Log in.`);
  // A password that was changed since it was checked must not leave a token behind.
  if (login !== undefined && knownAccount(snapshot, user)?.login !== login)
    throw new Fault('unauthenticated', 'Authentication failure');
  if (login === undefined && !isLimited(given))
    throw new Fault('unauthenticated', [
      'Authentication failure',
      `A token without limits is given for a password only: send userName and userPW${token === undefined ? '' : ', or commands or noderange'}.`,
    ]);
}

function checkLimits(
  snapshot: Snapshot,
  { noderange, commands, days, name }: Wanted,
  { user, addresses }: Caller,
): void {
  const wrong = (what: string): Fault => new Fault('invalid', what);
  if (days !== undefined && !(days > 0 && days <= longestDays))
    throw wrong(`days: give a number above 0, up to ${longestDays}.`);
  if (name !== undefined && (name.trim() === '' || name.length > longestName))
    throw wrong(`name: give a text of at most ${longestName} characters.`);
  if (noderange === undefined) return;
  if (['', '*'].includes(noderange.trim()) || noderange.length > longestRange)
    throw wrong(`noderange: give a node range of at most ${longestRange} characters.`);
  // Nobody learns by it of nodes that they do not know.
  const asked = ['lsdef', ...(commands?.split(',') ?? [])].map((command) =>
    allowedOn(snapshot, { user, scope: undefined, addresses, command, line: command === 'lsdef' ? '-t node' : '' }),
  );
  // Files of ranges are not read: each use would read them, for whoever made the token.
  knownNodes(snapshot, noderange, { hidden: true, sees: (node) => asked.some((may) => may(node)) });
}

/** Undefined: as site attribute tokenexpiredays says. */
function endOf(snapshot: Snapshot, given: Wanted, { token }: Caller): number | undefined {
  const usual = lifetimeDays(siteValue(snapshot, 'tokenexpiredays'));
  if (!isLimited(given) && given.days !== undefined && given.days > usual)
    throw new Fault('invalid', `days: tokens without limits live for ${usual} days at most (tokenexpiredays).`);
  const end = Date.now() + (given.days ?? (isLimited(given) ? Math.min(usual, longestDays) : usual)) * day;
  const last = token === undefined ? Number.POSITIVE_INFINITY : parseExpiry(snapshot.get('token', token)!['expire']!);
  if (given.days !== undefined && end > last)
    throw new Fault('invalid', [
      `The token that you asked with ends at ${expiryText(new Date(last))}, and one that is made with it lives no longer.`,
      'For more days send userName and userPW instead of it.',
    ]);
  return Math.min(end, last);
}

/** The caller's own tokens, without what would let somebody use them. Whoever uses one with limits sees that one. */
export const lstoken = query({
  name: 'lstoken',
  args: noArguments,
  line: noLine,
  free: true,
  run(snapshot, _args, { caller }) {
    const tokens = ownTokens(snapshot, caller).map(
      ([id, { created = '', expire = '', access = '', commands, noderange, comments }]) => ({
        id: publicId(id),
        ...(comments && { name: comments }),
        ...(commands && { commands }),
        ...(noderange && { noderange }),
        created: isoTime(created),
        expire: shownExpiry(expire),
        access: isoTime(access),
        current: id === caller.token,
      }),
    );
    return { shape: 'value', value: { tokens } };
  },
});

const ownTokens = (snapshot: Snapshot, { user, scope, token }: Caller) =>
  [...tokensOf(snapshot.rows('token'), user)].filter(([id]) => scope === undefined || id === token);

/** Revokes the token the caller used, one of the caller's, or all of them. */
export const rmtoken = change({
  name: 'rmtoken',
  args: Type.Union([Type.Object({ all: Type.Boolean() }), Type.Object({ id: Type.String() })]),
  line: (given) => ('id' in given ? [isPublicId(given.id) ? given.id : 'ID'] : given.all ? ['all'] : []),
  free: true,
  plan(draft, given, { caller }) {
    const own = ownTokens(draft.base, caller).map(([id]) => id);
    const meant = (id: string): boolean =>
      'id' in given ? publicId(id) === given.id : given.all || id === caller.token;
    const ended = own.filter(meant);
    if ('id' in given && ended.length === 0)
      throw new Fault('unknown-object', 'You have no token with that id; GET /tokens lists yours.');
    for (const id of ended) draft.remove('token', id);
    return nothing;
  },
});
