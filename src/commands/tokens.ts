import { Type } from 'typebox';
import { expiryText, hashToken, isoTime, lifetimeDays, newToken, tokensOf, tokensToDrop } from '../access/tokens.ts';
import { Fault } from '../core/errors.ts';
import { accountRow } from '../objects/accounts.ts';
import { siteValue } from '../objects/effective.ts';
import { change, noArguments, noLine, nothing, query } from './command.ts';

const day = 86_400_000;

/** A new token for the caller. Only its hash is stored. Older ones are dropped for it. */
export const gettoken = change({
  name: 'gettoken',
  args: noArguments,
  line: noLine,
  free: true,
  plan(draft, _args, { caller }) {
    // A password that was changed since it was checked must not leave a token behind.
    if (accountRow(draft.base, caller.user)?.['password'] !== caller.login)
      throw new Fault('unauthenticated', 'Authentication failure');
    const id = newToken();
    const now = new Date();
    for (const old of tokensToDrop(tokensOf(draft.base.rows('token'), caller.user), now.getTime()))
      draft.remove('token', old);
    const lifetime = lifetimeDays(siteValue(draft.base, 'tokenexpiredays'));
    const expire = expiryText(Number.isFinite(lifetime) ? new Date(now.getTime() + lifetime * day) : undefined);
    const tokenid = hashToken(id);
    draft.merge('token', tokenid, { tokenid, username: caller.user, expire, created: expiryText(now) });
    return { shape: 'value', value: { token: { id, expire } } };
  },
});

/** The caller's own tokens, without what would let somebody use them. */
export const lstoken = query({
  name: 'lstoken',
  args: noArguments,
  line: noLine,
  free: true,
  run(snapshot, _args, { caller }) {
    const tokens = [...tokensOf(snapshot.rows('token'), caller.user)].map(
      ([id, { created = '', expire = '', access = '' }]) => ({
        created: isoTime(created),
        expire,
        access: isoTime(access),
        current: id === caller.token,
      }),
    );
    return { shape: 'value', value: { tokens } };
  },
});

/** Revokes the token the caller used, or all of the caller's. */
export const rmtoken = change({
  name: 'rmtoken',
  args: Type.Object({ all: Type.Boolean() }),
  line: ({ all }) => (all ? ['all'] : []),
  free: true,
  plan(draft, { all }, { caller }) {
    const own = tokensOf(draft.base.rows('token'), caller.user);
    for (const id of own.keys()) if (all || id === caller.token) draft.remove('token', id);
    return nothing;
  },
});
